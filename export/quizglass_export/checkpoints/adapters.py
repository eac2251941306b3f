"""What a PEFT adapter changes in one tensor, computed without a model: LoRA (Hu et al. 2021), DoRA (Liu et al. 2024).

The same arithmetic as PEFT's `merge_and_unload`, which the tests compare it with; there, the whole model is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from peft import LoraConfig
from peft.utils.other import get_pattern_key
from safetensors import SafetensorError, safe_open
from torch import Tensor

from quizglass_export.checkpoints.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from quizglass_export.checkpoints.loading import check_finite
from quizglass_export.checkpoints.peft_models import adapter_config, check_base_stays
from quizglass_export.errors import ExportError

_PREFIX = "base_model.model."
_EMBEDDING = ("lora_embedding_A", "lora_embedding_B")
_BASE = "base_layer"
_KNOWN = ("lora_A", "lora_B", *_EMBEDDING, "lora_magnitude_vector", _BASE)


class AdapterWeights:
    """One adapter, read from its file as it is needed."""

    def __init__(self, folder: Path, weight: float, name: Callable[[str], str]) -> None:
        """Read the header.

        Args:
            folder: the adapter, as PEFT saves it.
            weight: scale of its change.
            name: from a checkpoint's key to the model class' name.

        Raises:
            ExportError: it is no LoRA, or has parts that cannot be merged tensor by tensor; names the key.
        """
        self.path = folder / ADAPTER_WEIGHTS
        self.weight = weight
        check_finite(self.path)
        config = adapter_config(folder)
        if not isinstance(config, LoraConfig):
            raise ExportError(f"{folder / ADAPTER_CONFIG}: peft_type is {config.peft_type}; only LORA can be merged")
        if config.fan_in_fan_out:
            raise ExportError(f"{folder / ADAPTER_CONFIG}: fan_in_fan_out is for layers that these models do not have")
        check_base_stays(config, folder)
        self.config = config
        self.parts: dict[str, dict[str, str]] = {}
        """Module to part to key; the part `weight` or `bias` of a module saved whole replaces the base's."""
        with safe_open(str(self.path), framework="pt") as file:
            for key in file.keys():  # noqa: SIM118 - not a mapping
                self._sort(key, name)
        for parts in self.parts.values():
            for first, second in (("lora_A", "lora_B"), _EMBEDDING):
                if (first in parts) != (second in parts):
                    there, gone = (first, second) if first in parts else (second, first)
                    missing = parts[there].replace(there, gone)
                    raise ExportError(f"{self.path}: {missing} is missing (1 keys); save the adapter again")

    def _sort(self, key: str, name: Callable[[str], str]) -> None:
        path = key.removeprefix(_PREFIX)
        for part in _KNOWN:
            module, found, rest = path.partition(f".{part}")
            if found:
                if rest not in ("", ".weight"):
                    raise ExportError(f"{self.path}: {key} is a part of LoRA that cannot be merged here")
                self.parts.setdefault(_module(name, module), {})[part] = key
                return
        module, _, part = path.rpartition(".")
        if part not in ("weight", "bias") or "token_adapter" in path or "lora_" in path:
            raise ExportError(f"{self.path}: {key} is a part of LoRA that cannot be merged here")
        self.parts.setdefault(_module(name, module), {})[part] = key

    def change(self, module: str, part: str, base: Tensor) -> Tensor | None:
        """What is added to a module's float32 `weight` or `bias`; None if it stays.

        Raises:
            ExportError: the shapes do not fit; the adapter is for another base.
        """
        parts = self.parts.get(module, {})
        if part in parts:
            return self.weight * (self._read(parts[part], base.shape) - base)
        if part != "weight" or not ({"lora_A", "lora_embedding_A"} & set(parts)):
            return None
        origin = base
        if _BASE in parts:  # PEFT saves an adapted embedding's or head's base too, and loads it in place of the model's
            base = self._read(parts[_BASE], base.shape)
        changed = base + self._product(module, parts, base)
        if "lora_magnitude_vector" in parts:
            along = 0 if "lora_embedding_A" in parts else 1  # a magnitude for each number that comes out, of both
            lengths = torch.linalg.norm(changed, dim=along, keepdim=True)
            changed = self._read(parts["lora_magnitude_vector"]).reshape(lengths.shape) / lengths * changed
        return self.weight * (changed - origin)

    def _product(self, module: str, parts: dict[str, str], base: Tensor) -> Tensor:
        embedded = "lora_embedding_A" in parts
        first, second = (self._read(parts[name]) for name in (_EMBEDDING if embedded else ("lora_A", "lora_B")))
        if first.ndim != 2 or second.ndim != 2 or first.shape[0] != second.shape[1]:
            raise ExportError(f"{self.path}: {next(iter(parts.values()))} is no matrix of a linear layer")
        delta = second @ first
        delta = delta.T if embedded else delta
        if delta.shape != base.shape:
            key = parts["lora_embedding_B" if embedded else "lora_B"]
            raise ExportError(
                f"{self.path}: {key} and its counterpart make {list(delta.shape)}, the base's {module} has "
                f"{list(base.shape)}; the adapter is for another base"
            )
        patterns = self.config.alpha_pattern
        alpha = float(patterns.get(get_pattern_key(patterns, module), self.config.lora_alpha))
        rank = first.shape[0]
        return delta * (alpha / (rank**0.5 if self.config.use_rslora else rank))

    def _read(self, key: str, shape: Sequence[int] | None = None) -> Tensor:
        try:
            with safe_open(str(self.path), framework="pt") as file:
                tensor: Tensor = file.get_tensor(key).float()
        except (SafetensorError, OSError) as error:
            raise ExportError(f"{self.path}: not a readable safetensors file: {error}") from error
        if shape is not None and tensor.shape != torch.Size(shape):
            raise ExportError(f"{self.path}: {key} has shape {list(tensor.shape)}, the base {list(shape)}")
        return tensor


def _module(name: Callable[[str], str], module: str) -> str:
    return name(f"{module}.weight").removesuffix(".weight")
