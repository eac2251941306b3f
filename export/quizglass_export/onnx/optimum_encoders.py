"""Encoders, cross-encoders and their like through optimum's ONNX exporters, and as own graphs where it has none."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from optimum.exporters.onnx import model_configs, onnx_export_from_model
from torch import Tensor, nn

from quizglass_export.graphs.attention import causal_masks
from quizglass_export.onnx.file import OPSET
from quizglass_export.onnx.tracing import write_onnx

_ROWS = {0: "batch", 1: "sequence"}
_TEXT_CONFIGS = {
    "bert": model_configs.BertOnnxConfig,
    "xlm-roberta": model_configs.XLMRobertaOnnxConfig,
    "modernbert": model_configs.ModernBertOnnxConfig,
}
_FEATURES, _CLASSES = "feature-extraction", "text-classification"


class _ProjectedVisionConfig(model_configs.CLIPVisionModelOnnxConfig):  # type: ignore[misc]
    """CLIP's vision tower with its projection: optimum's own config knows the tower alone.

    Height and width are fixed, since the position embedding fits one size.
    """

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        return {"pixel_values": {0: "batch_size"}}

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        return {"image_embeds": {0: "batch_size"}}


def embedded(model: Any, pixel_values: Tensor) -> Tensor:
    """An image encoder's vectors [B, D] of pictures [B, 3, H, W]: its projection, or its pooled output."""
    output = model(pixel_values=pixel_values)
    vectors: Tensor = output.image_embeds if "image_embeds" in output else output.pooler_output
    return vectors.flatten(1)


class _Pooled(nn.Module):
    """A vision model whose pooled output is its embedding (SigLIP, convolutional networks)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        if self.model.config.model_type != "efficientnet":
            return embedded(self.model, pixel_values)
        return _pooled(self.model, pixel_values)


class _Classified(nn.Module):
    """A convolutional network with its classifier."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        if self.model.config.model_type == "efficientnet":
            logits: Tensor = self.model.classifier(_pooled(self.model.efficientnet, pixel_values))
        else:
            logits = self.model(pixel_values=pixel_values).logits
        return logits


def _pooled(model: Any, pixel_values: Tensor) -> Tensor:
    """EfficientNet's features: it pools by a window larger than the picture, which ONNX says otherwise than PyTorch."""
    states: Tensor = model(pixel_values=pixel_values).last_hidden_state
    return states.mean((2, 3))


class _CausalStates(nn.Module):
    """A decoder's states, with a mask that lets padding stand on the right (Qwen3-Embedding)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        masks = {kind: mask[:, None] for kind, mask in causal_masks(self.model.config, attention_mask).items()}
        states: Tensor = self.model(
            input_ids=input_ids,
            attention_mask=masks,
            position_ids=(attention_mask.cumsum(1) - 1).clamp(min=0),
            use_cache=False,
        ).last_hidden_state
        return states


def write_image_encoder(model: Any, side: int, path: Path) -> None:
    """A vision model for pictures of one size: `pixel_values` [B, 3, side, side] to `image_embeds` [B, D]."""
    if model.config.model_type == "clip_vision_model":
        _export(model, path, _ProjectedVisionConfig(model.config, task=_FEATURES), _FEATURES)
        return
    axes = {"pixel_values": {0: "batch"}, "image_embeds": {0: "batch"}}
    write_onnx(_Pooled(model).eval(), {"pixel_values": torch.zeros(2, 3, side, side)}, axes, "image_embeds", path)


def write_classifier(model: Any, side: int, path: Path) -> None:
    """A vision model with a head, for pictures of one size: `pixel_values` [B, 3, side, side] to `logits` [B, L]."""
    axes = {"pixel_values": {0: "batch"}, "logits": {0: "batch"}}
    write_onnx(_Classified(model).eval(), {"pixel_values": torch.zeros(2, 3, side, side)}, axes, "logits", path)


def write_text_encoder(model: Any, path: Path) -> None:
    """A text model to ONNX: ids, mask and token types, if it has them, [B, S] to `last_hidden_state` [B, S, D]."""
    if model.config.model_type != "qwen3":
        config = _TEXT_CONFIGS[model.config.model_type](model.config, task=_FEATURES)
        _export(model, path, config, _FEATURES)
        return
    ids = torch.ones(2, 5, dtype=torch.int64)
    axes = dict.fromkeys(("input_ids", "attention_mask", "last_hidden_state"), _ROWS)
    inputs = {"input_ids": ids, "attention_mask": ids}
    write_onnx(_CausalStates(model).eval(), inputs, axes, "last_hidden_state", path)


def write_cross_encoder(model: Any, path: Path) -> None:
    """A sequence classifier to ONNX: ids, mask and token types, if it has them, [B, S] to `logits` [B, L]."""
    config = _TEXT_CONFIGS[model.config.model_type](model.config, task=_CLASSES)
    _export(model, path, config, _CLASSES)


def _export(model: Any, path: Path, config: Any, task: str) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch, warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        onnx_export_from_model(
            model,
            scratch,
            task=task,
            opset=OPSET,
            custom_onnx_configs={"model": config},
            do_validation=False,  # parity is checked on real samples once everything is exported
        )
        for file in Path(scratch).glob("model.onnx*"):
            file.replace(path.with_name(file.name))
