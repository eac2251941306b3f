"""SmolLM2 from its GGUF file: as a checkpoint to train, and as a GGUF of another type, with an adapter or without.

The file is Q4_1, for which llama.cpp has no fast path on CPUs: it is written anew as Q8_0 or Q4_0. An adapter is
merged into the dequantised weights first. Everything that is no weight (vocabulary, rotary base, names) is copied from
the file as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from peft import PeftModel

from quizglass_export.errors import ExportError
from quizglass_export.everyday.weights import GENERATOR
from quizglass_export.gguf.jobs import quantise

CHECKPOINT = "smollm2-checkpoint"
"""Folder of the work directory."""
_OWN_KEYS = ("general.architecture", "general.file_type", "general.quantization_version")
_ROTATED = {"q_proj.weight": "num_attention_heads", "k_proj.weight": "num_key_value_heads"}


def gguf_file(workdir: Path) -> Path:
    """The generator as its package brings it."""
    return workdir / GENERATOR.folder / next(iter(GENERATOR.files))


def write_checkpoint(workdir: Path) -> Path:
    """The base as transformers writes it, with its tokenizer, whole or not at all; once."""
    target = workdir / CHECKPOINT
    if not target.is_dir():
        partial = workdir / f"{CHECKPOINT}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        source = gguf_file(workdir)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
        tokenizer.save_pretrained(partial)
        _model(source).save_pretrained(partial)
        partial.rename(target)
    return target


def write_gguf(base: Path, target: Path, kind: str, *, adapter: Path | None = None, threads: int = 1) -> None:
    """Write a GGUF of the Llama shape anew in another type, with a LoRA adapter merged into it.

    Args:
        base: a GGUF file that transformers can dequantise.
        target: file to write, whole or not at all.
        kind: q8_0, q4_0 or f16.
        adapter: PEFT's folder.
        threads: CPU threads.

    Raises:
        ExportError: it is no Llama, or the adapter does not fit it.
    """
    model = _model(base)
    if model.config.model_type != "llama":
        raise ExportError(f"{base}: model_type is {model.config.model_type!r}; it must be llama")
    if adapter is not None:
        try:
            model = PeftModel.from_pretrained(model, str(adapter)).merge_and_unload()
        except (OSError, ValueError, RuntimeError) as error:
            raise ExportError(f"{adapter}: does not fit {base.name}: {error}") from error
    target.parent.mkdir(parents=True, exist_ok=True)
    plain, partial = target.with_suffix(".f32.partial"), target.with_suffix(".partial")
    _write_plain(gguf.GGUFReader(base), weights(model), plain)
    quantise(plain, partial, kind, threads=threads)
    plain.unlink()
    partial.replace(target)


def weights(model: Any) -> Mapping[str, NDArray[np.float32]]:
    """Tensors of a Llama by GGUF's names, in GGUF's order of rows."""
    config = model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    tensors: dict[str, NDArray[np.float32]] = {}
    for key, tensor in model.state_dict().items():
        if key == "lm_head.weight" and config.tie_word_embeddings:
            continue
        array = np.ascontiguousarray(tensor.float().numpy())
        for ending, heads in _ROTATED.items():
            if key.endswith(ending):
                array = _interleaved(array, getattr(config, heads))
        tensors[names.get_name(key, (".weight", ".bias")) or key] = array
    return tensors


def _interleaved(array: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """llama.cpp turns neighbouring rows of a head, transformers row i and the i-th of the second half."""
    rows, columns = array.shape
    halves = array.reshape(heads, 2, rows // heads // 2, columns)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, columns))


def _model(path: Path) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32, local_files_only=True
    )


def _write_plain(reader: gguf.GGUFReader, tensors: Mapping[str, NDArray[np.float32]], path: Path) -> None:
    """The file's metadata with these tensors in float32."""
    if missing := {tensor.name for tensor in reader.tensors} ^ set(tensors):
        raise ExportError(f"{path.name}: tensors that are in one of file and model alone: {', '.join(sorted(missing))}")
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name not in _OWN_KEYS:
            inner = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensors[tensor.name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
