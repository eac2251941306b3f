"""What the export of several roles that look at pictures shares: their inputs, and BLIP-2's Q-Former."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from quizglass_bundle.fields import Normalised
from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.inputs.resizing import RGB
from quizglass_bundle.inputs.text_rows import TextTokenizer, padded
from quizglass_export.clip_pixels import CLIP_MEAN, CLIP_STD
from quizglass_export.parity import Floats, Inputs
from quizglass_export.roles.shared.entry import QFormer
from quizglass_export.roles.shared.job import PREPROCESSOR, RoleJob, normalisation

BLIP = "Blip2ForImageTextRetrieval"
Q_FORMER_CLASSES = {"blip-2": BLIP}
ROWS = {0: "batch", 1: "sequence"}
BATCH = {0: "batch"}
TEXT_AXES = {"input_ids": ROWS, "attention_mask": ROWS}


def words_of(tokenizer: TextTokenizer, texts: Sequence[str], width: int | None = None) -> Inputs:
    """Ids and mask of texts as the server makes them, cut, and padded to a width or the longest."""
    made = padded(tokenizer.rows(texts), width)
    return {name: made[name] for name in ("input_ids", "attention_mask")}


def pixels_of(pictures: Sequence[RGB], spec: Normalised) -> Floats:
    """Pictures as a model takes them, float32 [B, 3, H, W]."""
    return np.stack([vision_inputs.channels(picture, spec) for picture in pictures])


def q_former_of(job: RoleJob, spec: QFormer, model: Any) -> dict[str, Any]:
    """What the manifest says of every Q-Former."""
    longest = int(model.config.qformer_config.max_position_embeddings)
    return {
        "engine": "onnx",
        "model": f"{job.role}/model.onnx",
        "tokenizer": job.tokenizer,
        "picture": picture_of(job, int(model.config.vision_config.image_size)),
        "max_tokens": min(spec.max_tokens, longest),
    }


def picture_of(job: RoleJob, width: int, height: int | None = None) -> Normalised:
    """Pictures of a size, normalised as the checkpoint says, else as CLIP's."""
    file = job.source.folder / PREPROCESSOR
    mean, std = normalisation(file) if file.is_file() else (CLIP_MEAN, CLIP_STD)
    return Normalised(width=width, height=height or width, mean=mean, std=std)


def example_of(picture: Normalised) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Two pictures and two texts to trace a graph with."""
    ids = torch.ones(2, 5, dtype=torch.int64)
    pixels = torch.zeros(2, 3, picture.height, picture.width)
    return {"pixel_values": pixels}, {"input_ids": ids, "attention_mask": ids}


def tensors_of(inputs: Inputs) -> dict[str, torch.Tensor]:
    """The same for PyTorch."""
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in inputs.items()}
