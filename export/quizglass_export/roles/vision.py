"""Q-Former roles and detectors of a bundle: exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from quizglass_export.checkpoints.files import check_finite
from quizglass_export.errors import ExportError
from quizglass_export.graphs.detectors import GroundingDino, Owlv2, exportable_masks
from quizglass_export.graphs.q_former import QFormerClassifier, QFormerPicture, QFormerText
from quizglass_export.onnx.file import halve_weights, write_onnx
from quizglass_export.parity import (
    Check,
    Floats,
    Inputs,
    as_array,
    at_most,
    batches,
    check_scorer,
    check_vectors,
    session,
    tokenise_padded,
)
from quizglass_export.recipe import schema
from quizglass_export.roles.job import (
    CLIP_MEAN,
    CLIP_STD,
    PREPROCESSOR,
    Exported,
    RoleJob,
    by_size,
    in_each_size,
    normalisation,
)
from quizglass_server.bundle import manifest
from quizglass_server.domain.turns import RGB
from quizglass_server.models import vision_inputs

HEAD = "classifier.safetensors"
"""The domain router's head, beside the checkpoint: `weight` [labels, H] and `bias` [labels]."""
_BLIP = "Blip2ForImageTextRetrieval"
GROUNDING_DINO, OWL = "grounding-dino", "owlv2"
Q_FORMER_CLASSES = {"blip-2": _BLIP}
DETECTOR_CLASSES = {GROUNDING_DINO: "GroundingDinoForObjectDetection", OWL: "Owlv2ForObjectDetection"}
_ROWS = {0: "batch", 1: "sequence"}
_BATCH = {0: "batch"}
_TEXT = {"input_ids": _ROWS, "attention_mask": _ROWS}
_HALF_A_PIXEL = 0.5
_MOST_PHRASES = 5
"""That the comparison asks a detector for."""


def prepare_coarse_reranker(job: RoleJob, spec: schema.CoarseReranker) -> None:
    """Check what is known without weights: the tokenizer."""
    job.check_texts(spec.max_tokens)


def export_coarse_reranker(job: RoleJob, spec: schema.CoarseReranker) -> Exported:
    """Export BLIP-2's Q-Former as two graphs, for pictures and for texts."""
    model = job.source.load(_BLIP)
    part = manifest.QFormer(
        kind="q-former",
        text_model=f"{job.role}/text.onnx",
        **_q_former(job, spec, model),
        queries=int(model.config.num_query_tokens),
        dimension=int(model.config.image_text_hidden_size),
    )
    pixels, words = _example(part.picture)
    axes = {"pixel_values": _BATCH, "image_embeds": _BATCH}
    write_onnx(QFormerPicture(model).eval(), pixels, axes, "image_embeds", job.path(part.model))
    texts = {**_TEXT, "text_embeds": _BATCH}
    write_onnx(QFormerText(model).eval(), words, texts, "text_embeds", job.path(part.text_model))
    for name in (part.model, part.text_model):
        halve_weights(job.path(name))
    return Exported(part, {"precision": "fp32"})


def check_coarse_reranker(job: RoleJob, spec: schema.CoarseReranker, part: manifest.QFormer) -> list[Check]:
    """Compare the vectors of pictures and texts with transformers'."""
    model = job.source.reference(_BLIP)
    own = Tokenizer.from_file(str(job.source.tokenizer_file()))
    run, texts_run = session(job.path(part.model)), session(job.path(part.text_model))
    images, texts = list[Floats](), list[Floats]()
    expected_images, expected_texts = list[Floats](), list[Floats]()
    for size in job.batches:
        for indices in batches(len(job.samples), size):
            pixels = _pixels([job.samples[i].picture for i in indices], part.picture)
            words = _words(own, [job.samples[i].passages[0] for i in indices], part.max_tokens)
            images += list(run.run(None, {"pixel_values": pixels})[0].reshape(-1, part.dimension))
            texts += list(texts_run.run(None, words)[0])
    for sample in job.samples:
        alone: Inputs = {"pixel_values": _pixels([sample.picture], part.picture)}
        alone |= _words(own, [sample.passages[0]], part.max_tokens)
        with torch.no_grad():
            output = model(**_tensors(alone))
        expected_images += list(as_array(output.image_embeds[0]))
        expected_texts += list(as_array(output.text_embeds))
    return [
        check_vectors(job.role, images, expected_images * len(job.batches), job.demands.cosine),
        check_vectors(job.role, texts, expected_texts * len(job.batches), job.demands.cosine),
    ]


def prepare_domain_router(job: RoleJob, spec: schema.DomainRouter) -> None:
    """Check what is known without weights of the base: the tokenizer and the head."""
    job.check_texts(spec.max_tokens)
    config = transformers.AutoConfig.from_pretrained(job.source.folder, local_files_only=True)
    _head(job, spec.labels, config)


def export_domain_router(job: RoleJob, spec: schema.DomainRouter) -> Exported:
    """Export BLIP-2's Q-Former with a classification head."""
    model = job.source.load(_BLIP)
    part = manifest.QFormerClassifier(
        kind="q-former-classifier",
        labels=spec.labels,
        **_q_former(job, spec, model),
    )
    pixels, words = _example(part.picture)
    axes = {"pixel_values": _BATCH, **_TEXT, "logits": _BATCH}
    head = QFormerClassifier(model, *_head(job, spec.labels, model.config)).eval()
    write_onnx(head, pixels | words, axes, "logits", job.path(part.model))
    halve_weights(job.path(part.model))
    return Exported(part, {"precision": "fp32"})


def check_domain_router(job: RoleJob, spec: schema.DomainRouter, part: manifest.QFormerClassifier) -> list[Check]:
    """Compare logits with the head run in transformers' own matching path, one sample at a time."""
    model = job.source.reference(_BLIP)
    weight, bias = _head(job, spec.labels, model.config)
    model.itm_head = torch.nn.Linear(weight.shape[1], weight.shape[0])
    model.itm_head.load_state_dict({"weight": weight, "bias": bias})
    own = Tokenizer.from_file(str(job.source.tokenizer_file()))

    def inputs(indices: Sequence[int]) -> Inputs:
        words = _words(own, [job.samples[i].question for i in indices], part.max_tokens)
        return {"pixel_values": _pixels([job.samples[i].picture for i in indices], part.picture), **words}

    references = []
    with torch.no_grad():
        for index in range(len(job.samples)):
            output = model(**_tensors(inputs([index])), use_image_text_matching_head=True)
            references.append(as_array(output.logits_per_image[0]))
    return check_scorer(job.role, job.path(part.model), references, inputs, job.demands.logits, job.batches)


def prepare_detector(job: RoleJob, spec: schema.Detector) -> None:
    """Check what is known without weights: picture sizes and the tokenizer."""
    kind = job.source.model_type
    if spec.picture is None and kind == GROUNDING_DINO:
        raise ExportError(f"roles.{job.role}.picture: missing; give the width and height of its pictures")
    if spec.grids and kind == OWL:
        raise ExportError(f"roles.{job.role}.grids: OWLv2 has one size of its own; leave it out")
    job.check_texts(16 if kind == OWL else int(job.source.config().get("max_text_len", 256)))


def export_detector(job: RoleJob, spec: schema.Detector) -> Exported:
    """Export Grounding DINO or OWLv2 for one picture size and phrases of any length."""
    kind = job.source.model_type
    model = job.source.load(DETECTOR_CLASSES[kind], ignore=_TIED)
    size = spec.picture
    side = int(model.config.vision_config.image_size) if kind == OWL else 0
    picture = _picture(job, size.width if size else side, size.height if size else side)
    part = manifest.Detector.model_validate(
        {
            "engine": "onnx",
            "kind": kind,
            "model": f"{job.role}/model.onnx",
            "tokenizer": job.tokenizer,
            "picture": picture,
            "grids": job.grids(picture, spec.grids),
            "boxes": _boxes(model.config),
            "max_tokens": 16 if kind == OWL else int(model.config.max_text_len),
        }
    )
    for each in by_size(part):
        _write_detector(job, each, model)
    return Exported(part, {"precision": "fp32"})


def _boxes(config: Any) -> int:
    """How many boxes a detector gives: OWLv2 one for each patch."""
    if config.model_type == GROUNDING_DINO:
        return int(config.num_queries)
    return (int(config.vision_config.image_size) // int(config.vision_config.patch_size)) ** 2


def _write_detector(job: RoleJob, part: manifest.Detector, model: Any) -> None:
    """The graph of one picture size."""
    kind, picture, name = part.kind, part.picture, part.model
    words = _phrases(job, ["a car", "the boat"], 16 if kind == OWL else None)
    pixels = {"pixel_values": torch.zeros(1, 3, picture.height, picture.width)}
    axes = {"input_ids": {0: "phrases"}, "attention_mask": {0: "phrases"}, "logits": {2: "phrases"}}
    if kind == GROUNDING_DINO:
        axes = {"input_ids": {1: "tokens"}, "attention_mask": {1: "tokens"}, "logits": {2: "tokens"}}
    module = Owlv2(model) if kind == OWL else GroundingDino(model)
    with exportable_masks() if kind == GROUNDING_DINO else nullcontext():
        write_onnx(module.eval(), pixels | _tensors(words), axes, ["logits", "pred_boxes"], job.path(name))
    halve_weights(job.path(name))


def check_detector(job: RoleJob, spec: schema.Detector, part: manifest.Detector) -> list[Check]:
    """Compare boxes, in pixels, and logits with transformers', each picture size by itself."""
    return in_each_size(part, partial(_check_detector, job))


def _check_detector(job: RoleJob, part: manifest.Detector) -> list[Check]:
    model = job.source.reference(DETECTOR_CLASSES[part.kind], ignore=_TIED)
    run = session(job.path(part.model))
    apart, wrong = list[float](), list[float]()
    scale = np.array([part.picture.width, part.picture.height] * 2, np.float32)
    for index, sample in enumerate(job.samples):
        words = _phrases(
            job, sample.query.split()[: 1 + index % _MOST_PHRASES], part.max_tokens if part.kind == OWL else None
        )
        inputs: Inputs = {"pixel_values": _pixels([sample.picture], part.picture), **words}
        logits, boxes = run.run(["logits", "pred_boxes"], inputs)
        with torch.no_grad():
            output = model(**_tensors(inputs))
        expected = as_array(output.logits[:, :, : logits.shape[2]].clamp(min=-1e9))
        apart.append(float(np.abs((boxes - as_array(output.pred_boxes)) * scale).max()))
        wrong.append(float(np.abs(logits - expected).max()))
    return [
        at_most(job.role, "largest difference of boxes, in pixels", apart, _HALF_A_PIXEL),
        at_most(job.role, "largest difference of logits", wrong, job.demands.logits),
    ]


_TIED = r".*(bbox_embed|class_embed|position_ids)"


def _phrases(job: RoleJob, phrases: Sequence[str], padded: int | None) -> Inputs:
    """OWLv2 takes a row for each phrase, padded to its length; Grounding DINO one row with full stops."""
    tokenizer = Tokenizer.from_file(str(job.source.tokenizer_file()))
    if padded is None:
        return _words(tokenizer, [" . ".join(phrases) + " ."], int(job.source.config().get("max_text_len", 256)))
    tokenizer.enable_truncation(padded)
    rows = [tokenizer.encode(phrase).ids for phrase in phrases]
    ids, mask = np.zeros((len(rows), padded), np.int64), np.zeros((len(rows), padded), np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)], mask[index, : len(row)] = row, 1
    return {"input_ids": ids, "attention_mask": mask}


def _words(tokenizer: Tokenizer, texts: Sequence[str], limit: int) -> Inputs:
    made = tokenise_padded(tokenizer, list(texts), limit)
    return {name: made[name] for name in ("input_ids", "attention_mask")}


def _pixels(pictures: Sequence[RGB], spec: manifest.Normalised) -> Floats:
    return np.stack([vision_inputs.channels(picture, spec) for picture in pictures])


def _q_former(job: RoleJob, spec: schema.CoarseReranker, model: Any) -> dict[str, Any]:
    """What the manifest says of every Q-Former."""
    longest = int(model.config.qformer_config.max_position_embeddings)
    return {
        "engine": "onnx",
        "model": f"{job.role}/model.onnx",
        "tokenizer": job.tokenizer,
        "picture": _picture(job, int(model.config.vision_config.image_size)),
        "max_tokens": min(spec.max_tokens, longest),
    }


def _picture(job: RoleJob, width: int, height: int | None = None) -> manifest.Normalised:
    file = job.source.folder / PREPROCESSOR
    mean, std = normalisation(file) if file.is_file() else (CLIP_MEAN, CLIP_STD)
    return manifest.Normalised(width=width, height=height or width, mean=mean, std=std)


def _example(picture: manifest.Normalised) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    ids = torch.ones(2, 5, dtype=torch.int64)
    pixels = torch.zeros(2, 3, picture.height, picture.width)
    return {"pixel_values": pixels}, {"input_ids": ids, "attention_mask": ids}


def _head(job: RoleJob, labels: Sequence[str], config: Any) -> tuple[torch.Tensor, torch.Tensor]:
    path = job.source.folder / HEAD
    if not path.is_file():
        raise ExportError(f"{path}: missing; the domain router's head (weight and bias) goes there")
    check_finite(path)
    wanted = {"weight": (len(labels), int(config.qformer_config.hidden_size)), "bias": (len(labels),)}
    found = {}
    try:
        with safe_open(str(path), framework="pt") as file:
            for name, shape in wanted.items():
                found[name] = file.get_tensor(name).float()
                if tuple(found[name].shape) != shape:
                    raise ExportError(f"{path}: {name} has shape {list(found[name].shape)}, not {list(shape)}")
    except SafetensorError as error:
        raise ExportError(f"{path}: {error}") from error
    return found["weight"], found["bias"]


def _tensors(inputs: Inputs) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in inputs.items()}
