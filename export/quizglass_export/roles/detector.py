"""The detector: Grounding DINO or OWLv2, exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.text_rows import TextTokenizer
from quizglass_bundle.parts import DetectorPart
from quizglass_export.checks import CARD_PRECISIONS, CardPrecision, Check, Precision, Quickest, at_most
from quizglass_export.errors import ExportError
from quizglass_export.graphs.detectors import GroundingDino, Owlv2Phrases, Owlv2Pictures, exportable_masks
from quizglass_export.onnx.file import halve_weights
from quizglass_export.onnx.precision import to_float16
from quizglass_export.onnx.quantise import quantise_products
from quizglass_export.onnx.sample_runs import Distance, Run, SampleRuns
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.parity import Floats, Inputs, as_array, session
from quizglass_export.roles.shared.entry import FromCheckpoint
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob, by_size, by_type, in_each_size
from quizglass_export.roles.shared.pictures import picture_of, pixels_of, tensors_of, words_of

GROUNDING_DINO, OWL = "grounding-dino", "owlv2"
CLASSES = {GROUNDING_DINO: "GroundingDinoForObjectDetection", OWL: "Owlv2ForObjectDetection"}
_HALF_A_PIXEL = 0.5
_MOST_PHRASES = 5
"""Most phrases that the comparison asks a detector for."""
_TIED = r".*(bbox_embed|class_embed|position_ids)"


class Detector(FromCheckpoint):
    """Grounding DINO or OWLv2."""

    candidates: ClassVar[tuple[Precision, ...]] = ("fp32", "int8-rows")

    precision: Literal["fp32", "int8-rows"] | CardPrecision | Quickest = "fp32"
    tokenizer: Path | None = None
    picture: Size | None = None
    """Needed by Grounding DINO; OWLv2 has one size of its own."""
    grids: tuple[Size, ...] = ()
    """Further sizes of Grounding DINO's pictures, each a graph of its own."""


ENTRY = Detector
"""What a recipe says of the role."""


def prepare(job: RoleJob, spec: Detector) -> None:
    """Check what is known without weights: picture sizes and the tokenizer."""
    kind = job.source.model_type
    if spec.picture is None and kind == GROUNDING_DINO:
        raise ExportError(f"roles.{job.role}.picture: missing; give the width and height of its pictures")
    if spec.grids and kind == OWL:
        raise ExportError(f"roles.{job.role}.grids: OWLv2 has one size of its own; leave it out")
    job.check_texts(16 if kind == OWL else int(job.source.config().get("max_text_len", 256)))


def export(job: RoleJob, spec: Detector) -> Exported:
    """Export Grounding DINO or OWLv2 for one picture size and phrases of any length."""
    kind = job.source.model_type
    model = job.source.load(CLASSES[kind], ignore=_TIED)
    size = spec.picture
    side = int(model.config.vision_config.image_size) if kind == OWL else 0
    picture = picture_of(job, size.width if size else side, size.height if size else side)
    part = DetectorPart.model_validate(
        {
            "engine": "onnx",
            "kind": kind,
            "model": f"{job.role}/model.onnx",
            "tokenizer": job.tokenizer,
            "picture": picture,
            "grids": job.grids(picture, spec.grids),
            "boxes": _boxes(model.config),
            "max_tokens": 16 if kind == OWL else int(model.config.max_text_len),
            "text_model": f"{job.role}/text.onnx" if kind == OWL else None,
        }
    )
    for each in by_size(part):
        if part.text_model is not None:
            _write_halves(job, each, part.text_model, model)
        else:
            _write_detector(job, each, model)
        written = [job.path(name) for name in (each.model, part.text_model) if name]
        products = [_convert(path, spec.precision) for path in written]
    notes = {"products": sum(products)} if spec.precision == "int8-rows" else {}
    return Exported(part, {"precision": spec.precision, **notes})


def _convert(path: Path, precision: str) -> int:
    """Put a float32 graph into another precision; returns the number of products in INT8."""
    products = 0
    if precision in CARD_PRECISIONS:
        to_float16(path, path)
        return 0
    if precision == "int8-rows":
        products = quantise_products(path, path)
    halve_weights(path)
    return products


def _boxes(config: Any) -> int:
    """How many boxes a detector gives: OWLv2 one for each patch."""
    if config.model_type == GROUNDING_DINO:
        return int(config.num_queries)
    return (int(config.vision_config.image_size) // int(config.vision_config.patch_size)) ** 2


def _write_detector(job: RoleJob, part: DetectorPart, model: Any) -> None:
    """Grounding DINO's graph of one picture size."""
    words = _phrases(job, ["a car", "the boat"], None)
    axes = {"input_ids": {1: "tokens"}, "attention_mask": {1: "tokens"}, "logits": {2: "tokens"}}
    with exportable_masks():
        module = GroundingDino(model).eval()
        write_onnx(module, _blank(part) | tensors_of(words), axes, ["logits", "pred_boxes"], job.path(part.model))


def _write_halves(job: RoleJob, part: DetectorPart, phrases: str, model: Any) -> None:
    """OWLv2's graphs of pictures and of phrases."""
    words = tensors_of(_phrases(job, ["a car", "the boat"], part.max_tokens))
    axes = {name: {0: "phrases"} for name in (*words, "phrase_vectors")}
    write_onnx(Owlv2Pictures(model).eval(), _blank(part), {}, ["pred_boxes", "box_vectors"], job.path(part.model))
    write_onnx(Owlv2Phrases(model).eval(), words, axes, "phrase_vectors", job.path(phrases))


def _blank(part: DetectorPart) -> dict[str, torch.Tensor]:
    return {"pixel_values": torch.zeros(1, 3, part.picture.height, part.picture.width)}


def check(job: RoleJob, spec: Detector, part: DetectorPart) -> list[Check]:
    """Compare boxes, in pixels, and logits with transformers', each picture size by itself."""
    return in_each_size(part, partial(_check_detector, job, spec))


def _check_detector(job: RoleJob, spec: Detector, part: DetectorPart) -> list[Check]:
    model = job.source.reference(CLASSES[part.kind], ignore=_TIED)
    run = _runner(job.folder, part)
    wrong, distances = list[float](), list[Distance]()
    for index in range(len(job.samples)):
        inputs = _inputs(job, part, index)
        logits, boxes = run(inputs)
        with torch.no_grad():
            output = model(**tensors_of(inputs))
        expected = as_array(output.logits[:, :, : logits.shape[2]].clamp(min=-1e9))
        wrong.append(float(np.abs(logits - expected).max()))
        distances.append(_apart(part, (logits, boxes), (expected, as_array(output.pred_boxes))))
    boxes_apart, moved = _judged(job, spec, distances)
    if spec.precision != "fp32":
        return [boxes_apart, moved]
    return [boxes_apart, at_most(job.role, "largest difference of logits", wrong, job.demands.logits)]


def _inputs(job: RoleJob, part: DetectorPart, index: int) -> Inputs:
    """The tensors of a sample's picture and the first words of its question, one to five."""
    sample = job.samples[index]
    words = sample.query.split()[: 1 + index % _MOST_PHRASES]
    padded = part.max_tokens if part.kind == OWL else None
    return {"pixel_values": pixels_of([sample.picture], part.picture), **_phrases(job, words, padded)}


def _apart(part: DetectorPart, found: Sequence[Floats], expected: Sequence[Floats]) -> Distance:
    """Of two models' logits and boxes: the largest difference of boxes, pixels, and the mean one of probabilities."""
    (logits, boxes), (other, its) = found, expected
    scale = np.array([part.picture.width, part.picture.height] * 2, np.float32)
    moved = np.abs(_sigmoid(logits) - _sigmoid(other)).mean()
    return float(np.abs((boxes - its) * scale).max()), float(moved)


def _judged(job: RoleJob, spec: Detector, distances: Sequence[Distance]) -> list[Check]:
    apart, moved = zip(*distances, strict=True)
    return [
        at_most(job.role, "largest difference of boxes, in pixels", apart, _HALF_A_PIXEL),
        at_most(job.role, "mean change of a probability", moved, spec.accept.drift),
    ]


def runs(job: RoleJob, spec: Detector, part: DetectorPart) -> SampleRuns:
    """Runs of a detector's models on pictures of the first size."""
    return SampleRuns(
        len(job.samples),
        partial(_inputs, job, part),
        lambda folder: _runner(folder, part),
        partial(_apart, part),
        partial(_judged, job, spec),
    )


def _sigmoid(logits: Any) -> Any:
    return 1 / (1 + np.exp(-np.clip(logits, -60, 60)))


def _runner(folder: Path, part: DetectorPart) -> Run:
    """What gives logits and boxes, of one graph or of two."""
    pictures = session(folder / part.model)
    if part.text_model is None:
        return lambda inputs: pictures.run(["logits", "pred_boxes"], inputs)
    texts = session(folder / part.text_model)

    def run(inputs: Inputs) -> Sequence[Floats]:
        words = {name: value for name, value in inputs.items() if name != "pixel_values"}
        vectors, boxes = pictures.run(["box_vectors", "pred_boxes"], {"pixel_values": inputs["pixel_values"]})
        return vectors @ texts.run(["phrase_vectors"], words)[0].T, boxes

    return run


def _phrases(job: RoleJob, phrases: Sequence[str], padded: int | None) -> Inputs:
    """OWLv2 takes a row for each phrase, padded to its length; Grounding DINO one row with full stops."""
    limit = padded or int(job.source.config().get("max_text_len", 256))
    texts = [" . ".join(phrases) + " ."] if padded is None else phrases
    return words_of(TextTokenizer(job.source.tokenizer_file(), limit), texts, padded)


EXPORTERS = by_type(Exporter(prepare, export, check, CLASSES, runs))
"""transformers' model type to what exports the role from it."""
