"""The image encoder: exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import transformers

from quizglass_export.onnx.accept import Feed, apply_precision
from quizglass_export.onnx.optimum_encoders import write_image_encoder
from quizglass_export.parity import Check, Floats, Inputs, as_array, batches, check_vectors, session
from quizglass_export.recipe import schema
from quizglass_export.roles.job import PREPROCESSOR, Exported, Exporter, RoleJob, by_type, normalisation
from quizglass_server.models import vision_inputs
from quizglass_server.models.fields import Normalised
from quizglass_server.roles.image_encoder import ImageEncoderPart

_CLIP_REST = r"^(text_model\.|text_projection|logit_scale|logit_bias|vision_model\.embeddings\.position_ids$)"
CLASSES = {
    "clip": ("CLIPVisionModelWithProjection", _CLIP_REST),
    "clip_vision_model": ("CLIPVisionModelWithProjection", r"\.position_ids$"),
    "siglip": ("SiglipVisionModel", _CLIP_REST),
    "siglip_vision_model": ("SiglipVisionModel", r"\.position_ids$"),
}
"""Model type to class, and the keys of its checkpoints that the image encoder does not have."""


def prepare(job: RoleJob, spec: schema.ImageEncoder) -> None:
    """Check what is known without weights: how its pictures are normalised."""
    normalisation(job.source.folder / PREPROCESSOR)


def export(job: RoleJob, spec: schema.ImageEncoder) -> Exported:
    """Export the image encoder."""
    model = _image_model(job, job.source.load)
    mean, std = normalisation(job.source.folder / PREPROCESSOR)
    side = int(model.config.image_size)
    clip = model.config.model_type == "clip_vision_model"
    part = ImageEncoderPart(
        engine="onnx",
        kind="image-encoder",
        model=f"{job.role}/model.onnx",
        picture=Normalised(width=side, height=side, mean=mean, std=std),
        dimension=int(model.config.projection_dim if clip else model.config.hidden_size),
    )
    write_image_encoder(model, job.path(part.model))
    return Exported(part, apply_precision(job.path(part.model), spec.precision, _pixels(job, part), len(job.samples)))


def check(job: RoleJob, spec: schema.ImageEncoder, part: ImageEncoderPart) -> list[Check]:
    """Compare the image encoder with transformers."""
    model = _image_model(job, job.source.reference)
    clip = model.config.model_type == "clip_vision_model"
    kind = transformers.CLIPImageProcessor if clip else transformers.SiglipImageProcessor
    fixed = {"do_resize": False} | ({"do_center_crop": False} if clip else {})
    processor = kind(**fixed, image_mean=list(part.picture.mean), image_std=list(part.picture.std))
    run, feed, exported, references = session(job.path(part.model)), _pixels(job, part), list[Floats](), list[Floats]()
    for size in job.batches:
        for indices in batches(len(job.samples), size):
            exported += list(run.run(["image_embeds"], feed(indices))[0])
    for sample in job.samples:
        with torch.no_grad():
            picture = vision_inputs.fit(sample.picture, part.picture)
            output = model(**processor([picture], return_tensors="pt"))
        references += list(as_array(output.image_embeds if clip else output.pooler_output))
    return [check_vectors(job.role, exported, references * len(job.batches), job.cosine(spec))]


def _pixels(job: RoleJob, part: ImageEncoderPart) -> Feed:
    def inputs(indices: Sequence[int]) -> Inputs:
        pictures = [vision_inputs.channels(job.samples[i].picture, part.picture) for i in indices]
        return {"pixel_values": np.stack(pictures)}

    return inputs


def _image_model(job: RoleJob, load: Callable[..., Any]) -> Any:
    kind, rest = CLASSES[job.source.model_type]
    return load(kind, ignore=rest)


EXPORTERS = by_type(Exporter(prepare, export, check, {kind: name for kind, (name, _) in CLASSES.items()}))
"""transformers' model type to what exports the role from it."""
