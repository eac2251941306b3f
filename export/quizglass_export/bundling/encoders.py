"""Image and text encoders through optimum's ONNX exporters."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from optimum.exporters.onnx import onnx_export_from_model
from optimum.exporters.onnx.model_configs import BertOnnxConfig, CLIPVisionModelOnnxConfig

from quizglass_export.bundling.onnx_file import OPSET


class _ProjectedVisionConfig(CLIPVisionModelOnnxConfig):  # type: ignore[misc]
    """CLIP's vision tower with its projection: optimum's own config knows the tower alone.

    Height and width are fixed, since the position embedding fits one size.
    """

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        return {"pixel_values": {0: "batch_size"}}

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        return {"image_embeds": {0: "batch_size"}}


def write_image_encoder(model: Any, path: Path) -> None:
    """CLIPVisionModelWithProjection to ONNX: `pixel_values` [B, 3, H, W] to `image_embeds` [B, D]."""
    _export(model, path, _ProjectedVisionConfig(model.config, task="feature-extraction"))


def write_text_encoder(model: Any, path: Path) -> None:
    """BertModel to ONNX: ids, mask and token types [B, S] to `last_hidden_state` [B, S, D]."""
    _export(model, path, BertOnnxConfig(model.config, task="feature-extraction"))


def _export(model: Any, path: Path, config: Any) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch, warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        onnx_export_from_model(
            model,
            scratch,
            task="feature-extraction",
            opset=OPSET,
            custom_onnx_configs={"model": config},
            do_validation=False,  # parity is checked on real samples once everything is exported
        )
        (Path(scratch) / "model.onnx").replace(path)
