"""SmolLM2 from its GGUF file, as a checkpoint to train."""

from __future__ import annotations

import shutil
from pathlib import Path

import transformers

from quizglass_export.checkpoints.source import dequantised
from quizglass_export.everyday.weights import GENERATOR

CHECKPOINT = "smollm2-checkpoint"
"""Name of the folder below the work directory in which the checkpoint is written."""


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
        dequantised(source).save_pretrained(partial)
        partial.rename(target)
    return target
