"""A GGUF file written anew in another type, with PEFT adapters merged into it or none.

transformers dequantises the file, the adapters are merged into what it makes of that, and every tensor goes back by
GGUF's name and in the order of rows that the file has it in, which is found by comparing, not assumed. Everything else
(vocabulary, chat template, rotary base, tensors that transformers has otherwise) is copied from the file. Besides
transformers' model one tensor at a time is in memory in float32; without adapters there is no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import dequantize
from numpy.typing import NDArray

from quizglass_export.checkpoints.merge import merge_adapters
from quizglass_export.checkpoints.source import dequantised
from quizglass_export.directory import hidden_beside
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.jobs import quantise

Tensor = NDArray[np.float32]
Replaced = Mapping[str, Callable[[], Tensor]]
"""By GGUF's names: what makes the tensor that stands for the file's own, in its order of rows."""
_OWN_KEYS = ("general.architecture", "general.file_type", "general.quantization_version", "general.alignment")
_ENDINGS = (".weight", ".bias")
_HEAD = "lm_head.weight"
_AS_IS = 0
"""Heads by which rows are interleaved where they are not."""


def write_merged(
    base: Path,
    target: Path,
    kind: str,
    adapters: Sequence[tuple[Path, float]] = (),
    *,
    token_embedding: str | None = None,
    output: str | None = None,
    threads: int = 1,
) -> None:
    """Write a GGUF file of a language model anew.

    Args:
        base: the file; with adapters of an architecture that transformers can dequantise.
        target: file to write, whole or not at all.
        kind: type of its matrices, one of `jobs.FILE_TYPES`.
        adapters: (directory, weight) of each, as PEFT saves them.
        token_embedding: type of the input embedding; None: as `kind` has it.
        output: the same for the output matrix.
        threads: CPU threads.

    Raises:
        ExportError: an adapter does not fit the base, changes what the file has no place for, or the file stores a
            changed tensor in a way that is not known here.
    """
    architecture = str(read_gguf(base).metadata.get("general.architecture"))
    reader = gguf.GGUFReader(base)
    with hidden_beside(target) as scratch:
        plain, whole = scratch / "plain.gguf", scratch / "whole.gguf"
        _write_plain(reader, architecture, _merged(base, reader, adapters) if adapters else {}, plain)
        quantise(plain, whole, kind, token_embedding=token_embedding, output=output, threads=threads)
        whole.replace(target)


def _merged(base: Path, reader: gguf.GGUFReader, adapters: Sequence[tuple[Path, float]]) -> Replaced:
    """transformers' model of the file with the adapters merged: every tensor whose order of rows is known."""
    model = dequantised(base)
    stored = {tensor.name: tensor for tensor in reader.tensors}
    names, heads = _names(reader), _heads(reader)
    orders: dict[str, tuple[str, int]] = {}
    unknown: dict[str, Any] = {}
    for key, tensor in model.state_dict().items():
        name = names.get_name(key, _ENDINGS) or key
        order = _order(_float32(stored[name]), tensor.numpy(), heads) if name in stored else None
        if order is None:
            unknown[key] = tensor.clone()
        else:
            orders[key] = name, order
    merged = merge_adapters(model, adapters)
    tied = getattr(merged.config, "tie_word_embeddings", False)
    replaced: dict[str, Callable[[], Tensor]] = {}
    for key, tensor in merged.state_dict().items():
        if key in orders:
            name, order = orders[key]
            replaced[name] = partial(_ordered, tensor.numpy(), order)
        elif not tensor.equal(unknown[key]) and not (tied and key == _HEAD):
            raise _no_place(base, key, names.get_name(key, _ENDINGS) or key, stored)
    return replaced


def _no_place(base: Path, key: str, name: str, stored: Mapping[str, Any]) -> ExportError:
    """An adapter changes what cannot be put into the file."""
    why = (
        f"{name} is stored in an order that is not known here"
        if name in stored
        else f"an adapter changes {key}, and the file has no tensor {name}"
    )
    return ExportError(f"{base}: {why}; merge the adapter into the checkpoint that the file was made of")


def _order(stored: Tensor, model: Tensor, heads: Iterable[int]) -> int | None:
    """By how many heads the file interleaves the rows that the model has, or `_AS_IS`; None where neither is so."""
    if np.array_equal(stored, model):
        return _AS_IS
    if model.ndim == 2:
        for count in heads:
            if model.shape[0] % (2 * count) == 0 and np.array_equal(stored, _interleaved(model, count)):
                return count
    return None


def _ordered(array: Tensor, order: int) -> Tensor:
    return np.ascontiguousarray(array) if order == _AS_IS else _interleaved(array, order)


def _interleaved(array: Tensor, heads: int) -> Tensor:
    """llama.cpp's Llama turns neighbouring rows of a head, transformers row i and the i-th of the second half."""
    rows, columns = array.shape
    halves = array.reshape(heads, 2, rows // heads // 2, columns)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, columns))


def _names(reader: gguf.GGUFReader) -> gguf.TensorNameMap:
    architecture = _value(reader, "general.architecture")
    kind = next(each for each, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    return gguf.get_tensor_name_map(kind, int(_value(reader, f"{architecture}.block_count")))


def _heads(reader: gguf.GGUFReader) -> list[int]:
    """How many heads queries and keys have, where the file says one number for all layers."""
    architecture = _value(reader, "general.architecture")
    keys = [f"{architecture}.attention.{name}" for name in ("head_count", "head_count_kv")]
    found = [_value(reader, key) for key in keys if key in reader.fields]
    return [count for count in found if isinstance(count, int) and count > 0]


def _value(reader: gguf.GGUFReader, key: str) -> Any:
    return reader.fields[key].contents()


def _float32(tensor: gguf.ReaderTensor) -> Tensor:
    values: Tensor = dequantize(tensor.data, tensor.tensor_type)
    return values


def _write_plain(reader: gguf.GGUFReader, architecture: str, replaced: Replaced, path: Path) -> None:
    """The file's metadata and tensors in float32, with these in place of its own."""
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for name, field in reader.fields.items():
        value = field.contents()
        if name.startswith("GGUF.") or name in _OWN_KEYS or value == []:  # the writer knows no empty array
            continue
        inner = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, value, field.types[0], sub_type=inner)
    for tensor in reader.tensors:
        size = 4 * int(tensor.n_elements)
        writer.add_tensor_info(tensor.name, tensor.shape.tolist()[::-1], np.dtype(np.float32), size)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for tensor in reader.tensors:
            writer.write_tensor_data(replaced[tensor.name]() if tensor.name in replaced else _float32(tensor))
    finally:
        writer.close()
