"""Weights of safetensors files as arrays, and a LoRA adapter's merged into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from quizglass_export.checkpoints.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, read_json
from quizglass_export.errors import ExportError

_WRAPPED = "base_model.model."
"""What PEFT puts in front of a weight's name."""
_ENCODER = "bert."
"""What a model with a head puts in front of the names of its encoder's weights."""


def read_safetensors(path: Path) -> dict[str, NDArray[Any]]:
    """Name to array.

    Raises:
        ExportError: the file cannot be read, or holds numbers that NumPy has no type for.
    """
    try:
        arrays: dict[str, NDArray[Any]] = load_file(path)
    except (OSError, SafetensorError, KeyError, TypeError) as error:
        raise ExportError(f"{path}: not a readable safetensors file: {error}") from error
    return arrays


def with_adapter(base: dict[str, NDArray[Any]], folder: Path) -> dict[str, NDArray[Any]]:
    """A bare encoder's weights with a PEFT LoRA adapter merged in float32, and the layers that it saved whole.

    Args:
        base: name to array, without the encoder's name in front.
        folder: of the adapter.

    Raises:
        ExportError: it is another kind of adapter, or of another model.
    """
    config, path = read_json(folder / ADAPTER_CONFIG), folder / ADAPTER_WEIGHTS
    scale = _scale(config, folder)
    merged = dict(base)
    adapter = {
        name.removeprefix(_WRAPPED).removeprefix(_ENCODER): each for name, each in read_safetensors(path).items()
    }
    for name, down in adapter.items():
        layer, lora, part = name.partition(".lora_")
        if not lora:
            merged[name] = down
        elif part == "A.weight":
            up, weight = adapter.get(f"{layer}.lora_B.weight"), merged.get(f"{layer}.weight")
            if up is None or weight is None or (up.shape[0], down.shape[1]) != weight.shape or up.shape[1] != len(down):
                raise ExportError(f"{path}: {layer} is no layer of the base, or of another size there")
            change = up.astype(np.float32) @ down.astype(np.float32)
            merged[f"{layer}.weight"] = weight.astype(np.float32) + np.float32(scale) * change
        elif part != "B.weight":
            raise ExportError(f"{path}: {name} is no part of a LoRA adapter that is merged without PyTorch")
    return merged


def _scale(config: dict[str, Any], folder: Path) -> float:
    """The scale of a low-rank change; ExportError where the adapter changes weights in another way."""
    path = folder / ADAPTER_CONFIG
    if config.get("peft_type", "LORA") != "LORA":
        raise ExportError(f"{path}: peft_type is {config['peft_type']!r}; only LORA is merged without PyTorch")
    for key in ("use_dora", "rank_pattern", "alpha_pattern", "fan_in_fan_out", "lora_bias"):
        if config.get(key):
            raise ExportError(f"{path}: {key} is set; such an adapter is merged by quizglass-export build alone")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or rank < 1 or not isinstance(alpha, int | float):
        raise ExportError(f"{path}: r and lora_alpha must be numbers")
    return float(alpha) / (rank**0.5 if config.get("use_rslora") else rank)
