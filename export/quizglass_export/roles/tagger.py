"""The tagger: a classifier of pictures, exported with its labels and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import torch
import transformers
from pydantic import Discriminator, Tag

from quizglass_bundle.errors import BundleError
from quizglass_bundle.fields import Count, Normalised
from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.parts import TaggerPart
from quizglass_export.checks import CardPrecision, Check, Share
from quizglass_export.errors import ExportError
from quizglass_export.onnx.accept import apply_precision, check_lossy_scorer
from quizglass_export.onnx.optimum_encoders import write_classifier
from quizglass_export.parity import Floats, Inputs, as_array, check_scorer
from quizglass_export.roles.image_encoder import CLASSES, CONVOLUTIONAL, picture_side
from quizglass_export.roles.shared.entry import Entry, FromCheckpoint, ReadyOnnx, is_ready
from quizglass_export.roles.shared.job import PREPROCESSOR, Exported, Exporter, RoleJob, by_type, normalisation
from quizglass_export.roles.shared.pictures import pixels_of
from quizglass_server.roles.tagger import checked_labels

CLASSIFIERS = {kind: CLASSES[kind][0].replace("Model", "ForImageClassification") for kind in CONVOLUTIONAL}
"""Model type to class."""


class _Tags(Entry):
    least: Share = 0.5
    """Less likely labels are left out."""
    most: Count = 3
    """Labels of one picture."""


class Tagger(FromCheckpoint, _Tags):
    """A picture to its likely labels: a classifier whose labels are the `id2label` of its `config.json`."""

    reads_text: ClassVar[bool] = False

    precision: Literal["fp32"] | CardPrecision = "fp32"


class ReadyTagger(ReadyOnnx, _Tags):
    """A picture to its likely labels: `pixel_values` [B, 3, H, W] to `logits` or `probabilities` [B, labels]."""

    reads_text: ClassVar[bool] = False

    picture: Normalised
    labels: Path
    """UTF-8, a label a line, in the order of the model's values."""
    output: Literal["logits", "probabilities"] = "logits"


ENTRY = Annotated[
    Annotated[Tagger, Tag("<checkpoint>")] | Annotated[ReadyTagger, Tag("<ready>")],
    Discriminator(is_ready),
]
"""What a recipe says of the role."""


def prepare(job: RoleJob, spec: Tagger) -> None:
    """Check what is known without weights: how its pictures are normalised, and its labels."""
    normalisation(job.source.folder / PREPROCESSOR)
    labels_of(job)


def export(job: RoleJob, spec: Tagger) -> Exported:
    """Export the classifier."""
    model = job.source.load(CLASSIFIERS[job.source.model_type])
    mean, std = normalisation(job.source.folder / PREPROCESSOR)
    side = picture_side(job.source.folder, model.config)
    part = TaggerPart(
        engine="onnx",
        kind="image-classifier",
        model=f"{job.role}/model.onnx",
        picture=Normalised(width=side, height=side, mean=mean, std=std),
        labels=f"{job.role}/labels.txt",
        least=spec.least,
        most=spec.most,
        pad_to=job.pad_to(spec),
    )
    job.path(part.labels).write_text("".join(f"{label}\n" for label in labels_of(job)), encoding="utf-8")
    write_classifier(model, side, job.path(part.model))
    notes = apply_precision(
        job.path(part.model), spec.precision, lambda rows: inputs(job, part, rows), len(job.samples), "vit"
    )
    return Exported(part, notes)


def check(job: RoleJob, spec: Tagger, part: TaggerPart) -> list[Check]:
    """Compare logits and likeliest labels with transformers."""
    path, found = job.path(part.model), references(job, part)

    def feed(rows: Sequence[int]) -> Inputs:
        return inputs(job, part, rows)

    if spec.precision == "fp32":
        return check_scorer(job.role, path, found, feed, job.demands.logits, job.batches)
    return check_lossy_scorer(job.role, path, found, feed, spec.accept, job.batches)


def references(job: RoleJob, part: TaggerPart) -> list[Floats]:
    """transformers' logits [labels] of each sample, pictures put in by its own processor."""
    model = job.source.reference(CLASSIFIERS[job.source.model_type])
    processor = transformers.ViTImageProcessor(
        do_resize=False, image_mean=list(part.picture.mean), image_std=list(part.picture.std)
    )
    with torch.no_grad():
        fitted = (vision_inputs.fit(sample.picture, part.picture) for sample in job.samples)
        return [as_array(model(**processor([picture], return_tensors="pt")).logits[0]) for picture in fitted]


def inputs(job: RoleJob, part: TaggerPart, rows: Sequence[int]) -> Inputs:
    """What the exported model is given of samples."""
    return {"pixel_values": pixels_of([job.samples[row].picture for row in rows], part.picture)}


def labels_of(job: RoleJob) -> Sequence[str]:
    """A checkpoint's labels in the order of its logits; of one with several names, parted by commas, the first.

    Raises:
        ExportError: it names none, or not every one.
    """
    path = job.source.folder / "config.json"
    named = job.source.config().get("id2label") or {}
    if not isinstance(named, dict):
        raise ExportError(f"{path}: id2label must be an object of names by number")
    labels = [str(named.get(str(place), "")).partition(",")[0] for place in range(len(named))]
    if not labels or labels == [f"LABEL_{place}" for place in range(len(labels))]:
        raise ExportError(f"{path}: id2label names no labels; a tagger's are words that prompts show")
    try:
        return checked_labels(labels, f"{path}: id2label")
    except BundleError as error:
        raise ExportError(str(error)) from error


EXPORTERS = by_type(Exporter(prepare, export, check, CLASSIFIERS))
"""transformers' model type to what exports the role from it."""
