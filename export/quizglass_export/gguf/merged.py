"""A GGUF file written anew in another type, with PEFT adapters merged into it or none.

transformers dequantises the file, the adapters are merged into what it makes of that, and every changed tensor goes
back by GGUF's name and in the order of rows that the file has it in, which is found by comparing, not assumed.
Everything else (vocabulary, chat template, rotary base, tensors that no adapter changes) is copied from the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import dequantize
from numpy.typing import NDArray

from quizglass_export.checkpoints.merge import merge_adapters
from quizglass_export.checkpoints.source import dequantised
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.jobs import quantise

Tensor = NDArray[np.float32]
_OWN_KEYS = ("general.architecture", "general.file_type", "general.quantization_version")
_ENDINGS = (".weight", ".bias")


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
    changes = _changes(base, reader, adapters) if adapters else {}
    target.parent.mkdir(parents=True, exist_ok=True)
    plain, partial = target.with_suffix(".f32.partial"), target.with_suffix(".partial")
    _write_plain(reader, architecture, changes, plain)
    quantise(plain, partial, kind, token_embedding=token_embedding, output=output, threads=threads)
    plain.unlink()
    partial.replace(target)


def _changes(base: Path, reader: gguf.GGUFReader, adapters: Sequence[tuple[Path, float]]) -> dict[str, Tensor]:
    """Tensors that the adapters change, merged, by GGUF's names and as the file has their rows."""
    model = dequantised(base)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    merged = merge_adapters(model, adapters)
    tied = getattr(merged.config, "tie_word_embeddings", False)
    stored = {tensor.name: tensor for tensor in reader.tensors}
    names, heads = _names(reader), _heads(reader)
    changes: dict[str, Tensor] = {}
    for key, tensor in merged.state_dict().items():
        if tensor.equal(before[key]) or (tied and key == "lm_head.weight"):
            continue
        name = names.get_name(key, _ENDINGS) or key
        if name not in stored:
            raise ExportError(
                f"{base}: an adapter changes {key}, and the file has no tensor {name}; merge it into the checkpoint "
                "that the file was made of"
            )
        ordered = _reordered(_float32(stored[name]), before[key].numpy(), tensor.numpy(), heads)
        if ordered is None:
            raise ExportError(
                f"{base}: {name} is stored in an order that is not known here; merge the adapter into the checkpoint "
                "that the file was made of"
            )
        changes[name] = ordered
    return changes


def _reordered(stored: Tensor, before: Tensor, after: Tensor, heads: Iterable[int]) -> Tensor | None:
    """A changed tensor in the file's order of rows, by how the unchanged one is stored; None where that is unknown."""
    if np.array_equal(stored, before):
        return np.ascontiguousarray(after)
    if before.ndim == 2:
        for count in heads:
            if before.shape[0] % (2 * count) == 0 and np.array_equal(stored, _interleaved(before, count)):
                return _interleaved(after, count)
    return None


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


def _write_plain(reader: gguf.GGUFReader, architecture: str, changes: Mapping[str, Tensor], path: Path) -> None:
    """The file's metadata and tensors in float32, with these in place of its own."""
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name not in _OWN_KEYS:
            inner = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, changes[tensor.name] if tensor.name in changes else _float32(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
