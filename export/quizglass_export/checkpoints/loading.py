"""Loading checkpoints in float32, and what only their weights and tokenizers say: whether they fit and are finite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from quizglass_export.checkpoints.files import CONFIG, read_json, weight_files
from quizglass_export.errors import ExportError

_FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def read_config(folder: Path) -> Any:
    """A checkpoint's config as transformers understands it.

    Raises:
        ExportError: transformers cannot make one of `config.json`, or the weights were quantised.
    """
    path = folder / CONFIG
    content = read_json(path)
    if quantised := content.get("quantization_config"):
        method = quantised.get("quant_method") if isinstance(quantised, dict) else quantised
        raise ExportError(f"{path}: quantization_config is {method!r}; take the checkpoint that was quantised")
    with config_errors(path):
        config: Any = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    return config


@contextmanager
def config_errors(path: Path) -> Iterator[None]:
    """What transformers and its models raise about a `config.json`, as ExportError that names the file; one that calls
    it by its name alone gets the directory.
    """
    try:
        yield
    except ExportError as error:
        if str(error).startswith(f"{CONFIG}:"):
            raise ExportError(f"{path.parent}/{error}") from error
        raise
    except Exception as error:  # a value of the wrong kind can raise anything
        raise ExportError(f"{path}: cannot be used: {_in_words(error)}") from error


def _in_words(error: Exception) -> str:
    """A message of a library's error; those of a missing key or a wrong type say little without the error's name."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {text}"


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
    except (RuntimeError, SafetensorError) as error:
        raise ExportError(f"{folder}: weights do not fit {CONFIG}: {error}") from error
    except Exception as error:
        raise ExportError(f"{folder}: transformers cannot load it: {_in_words(error)}") from error
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
    vocabulary = read_tokenizer(tokenizer).get_vocab(with_added_tokens=True)
    largest = max(vocabulary.values(), default=-1)
    if largest < 0:
        raise ExportError(f"{tokenizer}: has no tokens")
    if largest >= size:
        raise ExportError(f"{tokenizer}: token id {largest} is beyond vocab_size {size} in {config_file}")


def read_tokenizer(path: Path) -> Tokenizer:
    """A `tokenizer.json`; ExportError if it is none."""
    try:
        return Tokenizer.from_file(str(path))
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":  # a Rust panic is no Exception
            raise ExportError(f"{path}: not a tokenizer: {error}") from error
        raise


def _vocabulary_size(config_file: Path) -> int:
    """Rows of the text embedding; what a config leaves out is transformers' default."""
    config = read_config(config_file.parent)
    text = getattr(config, "qformer_config", None) or getattr(config, "text_config", None) or config
    with config_errors(config_file):
        return int(text.vocab_size)


def check_finite(path: Path) -> None:
    """Raise ExportError naming the first tensor of a safetensors file that is not finite, or of no usual type."""
    try:
        with safe_open(str(path), framework="pt") as file:
            for key in file.keys():  # noqa: SIM118 - not a mapping
                tensor = file.get_tensor(key)
                if tensor.is_floating_point() and tensor.dtype not in _FLOATS:
                    raise ExportError(f"{path}: {key} is stored as {tensor.dtype}; save it as float32, 16 or bfloat16")
                if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
                    raise ExportError(f"{path}: {key} holds NaN or infinity; train again or restore the file")
    except (SafetensorError, OSError) as error:
        raise ExportError(f"{path}: not a readable safetensors file: {error}") from error
