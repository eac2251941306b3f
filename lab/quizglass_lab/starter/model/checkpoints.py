"""Saving and loading the starter's checkpoints in their final, public form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

from quizglass_export.checkpoints.files import DECISIONS

BASE_NAME = "quizglass-starter-base"


def save_base(
    model: Qwen2_5_VLForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    folder: Path,
    dtype: torch.dtype = torch.float32,
) -> None:
    """config.json, model.safetensors, tokenizer files."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = model.dtype
    model.to(dtype)
    model.save_pretrained(folder)
    model.to(kept)
    tokenizer.save_pretrained(folder)


def load_base(folder: Path) -> Qwen2_5_VLForConditionalGeneration:
    """The model in float32.

    Raises:
        FileNotFoundError: no checkpoint there; the message says which stage writes it.
    """
    if not (folder / "model.safetensors").is_file():
        raise FileNotFoundError(f"{folder}: no checkpoint; run the starter's earlier stages first")
    return Qwen2_5_VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer written by `build_tokenizer` or beside a base checkpoint."""
    return PreTrainedTokenizerFast.from_pretrained(folder)


def save_adapter(adapted: PeftModel, folder: Path, decisions: Mapping[str, Sequence[str]] | None = None) -> None:
    """A PEFT adapter that names its base relatively, so that the folder can move.

    `decisions` are the roles that it was trained for, with the labels that their letters stand for; they go to
    `DECISIONS`.
    """
    adapted.save_pretrained(folder)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = BASE_NAME
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if decisions is not None:
        text = json.dumps({role: list(labels) for role, labels in decisions.items()}, indent=1) + "\n"
        (folder / DECISIONS).write_text(text, encoding="utf-8")
