"""A PEFT adapter as a GGUF LoRA, for a base that stays as it is and is adapted when it is loaded.

llama.cpp has one alpha for a whole adapter and divides it by each matrix' rank; alphas by module, rank-stabilised
scaling and the adapter's own weight are therefore multiplied into B, with an alpha of 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from peft import LoraConfig, PeftConfig
from peft.utils.other import get_pattern_key
from safetensors.torch import load_file

from quizglass_export.checkpoints.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from quizglass_export.checkpoints.loading import check_finite
from quizglass_export.checkpoints.peft_models import check_base_stays
from quizglass_export.errors import ExportError
from quizglass_export.gguf.text import finish, float32, gguf_name, text_architecture

_PREFIX = "base_model.model."
_BASES = ("qwen2_vl", "qwen2_5_vl", "qwen3")


def write_lora_gguf(config: Any, folder: Path, path: Path, *, weight: float = 1.0) -> int:
    """Write an adapter of a Qwen2-VL, Qwen2.5-VL or Qwen3 language model.

    Args:
        config: the base model's config.
        folder: the adapter, as PEFT saves it.
        path: file to write.
        weight: scale of its change.

    Returns:
        How many matrices are adapted.

    Raises:
        ExportError: the adapter does what GGUF's LoRA cannot say; names the file and key.
    """
    pairs = read_pairs(folder)
    check_language_model(config.model_type)
    architecture = text_architecture(config)
    layers = int(getattr(config, "text_config", config).num_hidden_layers)
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 1.0)
    for module, (first, second, scaling) in sorted(pairs.items()):
        name = gguf_name(f"{module}.weight", architecture, layers)
        rank = first.shape[0]
        writer.add_tensor(f"{name}.lora_a", float32(first))
        writer.add_tensor(f"{name}.lora_b", np.ascontiguousarray(float32(second) * np.float32(scaling * weight * rank)))
    finish(writer)
    return len(pairs)


def check_language_model(model_type: object) -> None:
    """Raise ExportError where transformers' model type is none that has adapters as GGUF."""
    if model_type not in _BASES:
        raise ExportError(f"config.json: model_type is {model_type!r}; it can be {', '.join(_BASES)}")


def read_pairs(folder: Path) -> dict[str, tuple[torch.Tensor, torch.Tensor, float]]:
    """Module to A [r, in], B [out, r] and scaling; ExportError where the adapter is more than that."""
    weights = folder / ADAPTER_WEIGHTS
    check_finite(weights)
    config = PeftConfig.from_pretrained(str(folder))
    if not isinstance(config, LoraConfig):
        raise ExportError(f"{folder / ADAPTER_CONFIG}: peft_type is {config.peft_type}; only LORA can be GGUF")
    check_base_stays(config, folder)
    if config.use_dora or config.modules_to_save:
        what = "use_dora" if config.use_dora else "modules_to_save"
        raise ExportError(f"{folder / ADAPTER_CONFIG}: {what} cannot be said in GGUF; merge the adapter instead")
    tensors = load_file(weights)
    pairs = {}
    for key in sorted(tensors):
        module, found, rest = key.removeprefix(_PREFIX).partition(".lora_A.")
        if not found:
            if ".lora_B." not in key or key.replace(".lora_B.", ".lora_A.") not in tensors:
                raise ExportError(f"{weights}: {key} cannot be said in GGUF; merge the adapter instead")
            continue
        other = key.replace(".lora_A.", ".lora_B.")
        if other not in tensors:
            raise ExportError(f"{weights}: {other} is missing; save the adapter again")
        if rest != "weight" or tensors[key].ndim != 2:
            raise ExportError(f"{weights}: {key} is no matrix of a linear layer; merge the adapter instead")
        alpha = config.alpha_pattern.get(get_pattern_key(config.alpha_pattern, module), config.lora_alpha)
        rank = tensors[key].shape[0]
        pairs[module] = (tensors[key], tensors[other], alpha / (rank**0.5 if config.use_rslora else rank))
    if not pairs:
        raise ExportError(f"{weights}: no LoRA matrices; this is no adapter")
    return pairs
