"""Loading checkpoints in float32, and what only their weights and tokenizers say: whether they fit and are finite."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from quizglass_export.checkpoints.files import CONFIG, weight_files
from quizglass_export.errors import ExportError


def load_float32(folder: Path, kind: Any, *, ignore: str = "", **options: Any) -> Any:
    """`from_pretrained` that refuses missing, unexpected and misshapen weights.

    Args:
        folder: the checkpoint.
        kind: transformers' model class.
        ignore: regular expression of keys that the checkpoint may have beyond the class.
        options: for `from_pretrained`.
    """
    try:
        model, info = kind.from_pretrained(
            folder,
            dtype=torch.float32,
            attn_implementation="eager",
            local_files_only=True,
            output_loading_info=True,
            **options,
        )
    except RuntimeError as error:
        raise ExportError(f"{folder}: weights do not fit {CONFIG}: {error}") from error
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        found = sorted(str(key) for key in info[problem])
        if ignore and problem == "unexpected_keys":
            found = [key for key in found if not re.match(ignore, key)]
        if found:
            raise ExportError(f"{weight_files(folder)[0]}: {problem.replace('_', ' ')}: {found[0]} ({len(found)})")
    return model.eval()


def check_vocabulary(config_file: Path, tokenizer: Path) -> None:
    """Raise ExportError where a tokenizer has ids beyond the model's vocabulary, or is none."""
    size = _vocabulary_size(config_file)
    try:
        vocabulary = Tokenizer.from_file(str(tokenizer)).get_vocab(with_added_tokens=True)
    except Exception as error:
        raise ExportError(f"{tokenizer}: not a tokenizer: {error}") from error
    largest = max(vocabulary.values(), default=-1)
    if largest < 0:
        raise ExportError(f"{tokenizer}: has no tokens")
    if largest >= size:
        raise ExportError(f"{tokenizer}: token id {largest} is beyond vocab_size {size} in {config_file}")


def _vocabulary_size(config_file: Path) -> int:
    """Rows of the text embedding; what a config leaves out is transformers' default."""
    config = transformers.AutoConfig.from_pretrained(config_file.parent, local_files_only=True)
    text = getattr(config, "qformer_config", None) or getattr(config, "text_config", None) or config
    return int(text.vocab_size)


def check_finite(path: Path) -> None:
    """Raise ExportError naming the first tensor of a safetensors file that is not finite."""
    try:
        with safe_open(str(path), framework="pt") as file:
            for key in file.keys():  # noqa: SIM118 - not a mapping
                tensor = file.get_tensor(key)
                if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
                    raise ExportError(f"{path}: {key} holds NaN or infinity; train again or restore the file")
    except (SafetensorError, OSError) as error:
        raise ExportError(f"{path}: not a readable safetensors file: {error}") from error
