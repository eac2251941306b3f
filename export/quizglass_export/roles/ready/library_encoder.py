"""An image encoder from weights of timm or torchvision: exported, and compared with the library's own module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from quizglass_bundle.parts import ImageEncoderPart
from quizglass_export.checkpoints.source import LibrarySource
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.onnx.accept import apply_precision
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.roles.image_encoder import LibraryImageEncoder, compare_vectors, image_encoder_runs, pixels
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob


class _Flat(nn.Module):
    """Pooled features as vectors, also of a model that leaves axes of one pixel."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Tensor) -> Tensor:
        features: Tensor = self.model(pixel_values)
        return features.flatten(1)


def prepare(job: RoleJob, spec: LibraryImageEncoder) -> None:
    """Nothing is known without weights and library."""


def export(job: RoleJob, spec: LibraryImageEncoder) -> Exported:
    """Export the encoder."""
    model, picture = _model(job), spec.picture
    example = torch.zeros(2, 3, picture.height, picture.width)
    with torch.no_grad():
        features = model.model(example)
    if features.shape[2:].numel() != 1:
        raise ExportError(
            f"{_source(job).architecture}: gives features of {list(features.shape)}, not one vector a picture"
        )
    part = ImageEncoderPart(
        engine="onnx",
        kind="image-encoder",
        model=f"{job.role}/model.onnx",
        picture=picture,
        dimension=int(features.shape[1]),
        pad_to=job.pad_to(spec),
    )
    axes = {"pixel_values": {0: "batch"}, "image_embeds": {0: "batch"}}
    write_onnx(model, {"pixel_values": example}, axes, "image_embeds", job.path(part.model))
    notes = apply_precision(job.path(part.model), spec.precision, pixels(job, part), len(job.samples), "vit")
    return Exported(part, notes | {"library": spec.library, "architecture": spec.architecture})


def check(job: RoleJob, spec: LibraryImageEncoder, part: ImageEncoderPart) -> list[Check]:
    """Compare the encoder with the library's."""
    return compare_vectors(job, spec, part, _model(job))


def _source(job: RoleJob) -> LibrarySource:
    if not isinstance(job.source, LibrarySource):
        raise ExportError(f"{job.source.folder}: no weights of timm or torchvision")
    return job.source


def _model(job: RoleJob) -> _Flat:
    return _Flat(_source(job).load("")).eval()


LIBRARY = Exporter(prepare, export, check, {}, image_encoder_runs)
"""The role's exporter; the architecture is the recipe's."""
