"""The domain router: BLIP-2's Q-Former with a head, exported, described for the manifest, and compared with PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import torch
from pydantic import Field
from safetensors import SafetensorError, safe_open

from quizglass_bundle.fields import Count
from quizglass_bundle.inputs.text_rows import TextTokenizer
from quizglass_bundle.parts import DomainRouterPart
from quizglass_export.checkpoints.files import CLASSIFIER
from quizglass_export.checkpoints.loading import check_finite, read_config
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.graphs.q_former import QFormerClassifier
from quizglass_export.onnx.file import halve_weights
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.parity import Inputs, as_array, check_scorer
from quizglass_export.roles.shared.entry import QFormer
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob, by_type
from quizglass_export.roles.shared.pictures import (
    BATCH,
    BLIP,
    Q_FORMER_CLASSES,
    TEXT_AXES,
    example_of,
    pixels_of,
    q_former_of,
    tensors_of,
    words_of,
)


class DomainRouter(QFormer):
    """BLIP-2's Q-Former with `classifier.safetensors` beside the checkpoint: picture and question to a domain."""

    labels: Annotated[tuple[str, ...], Field(min_length=2)]
    """Names in the order of the head's rows."""
    max_tokens: Count = 64


ENTRY = DomainRouter
"""What a recipe says of the role."""


def prepare(job: RoleJob, spec: DomainRouter) -> None:
    """Check what is known without weights of the base: the tokenizer and the head."""
    job.check_texts(spec.max_tokens)
    config = read_config(job.source.folder)
    _head(job, spec.labels, config)


def export(job: RoleJob, spec: DomainRouter) -> Exported:
    """Export BLIP-2's Q-Former with a classification head."""
    model = job.source.load(BLIP)
    part = DomainRouterPart(
        kind="q-former-classifier",
        labels=spec.labels,
        **q_former_of(job, spec, model),
    )
    pixels, words = example_of(part.picture)
    axes = {"pixel_values": BATCH, **TEXT_AXES, "logits": BATCH}
    head = QFormerClassifier(model, *_head(job, spec.labels, model.config)).eval()
    write_onnx(head, pixels | words, axes, "logits", job.path(part.model))
    halve_weights(job.path(part.model))
    return Exported(part, {"precision": "fp32"})


def check(job: RoleJob, spec: DomainRouter, part: DomainRouterPart) -> list[Check]:
    """Compare logits with the head run in transformers' own matching path, one sample at a time."""
    model = job.source.reference(BLIP)
    weight, bias = _head(job, spec.labels, model.config)
    model.itm_head = torch.nn.Linear(weight.shape[1], weight.shape[0])
    model.itm_head.load_state_dict({"weight": weight, "bias": bias})
    own = TextTokenizer(job.source.tokenizer_file(), part.max_tokens)

    def inputs(indices: Sequence[int]) -> Inputs:
        words = words_of(own, [job.samples[i].question for i in indices])
        return {"pixel_values": pixels_of([job.samples[i].picture for i in indices], part.picture), **words}

    references = []
    with torch.no_grad():
        for index in range(len(job.samples)):
            output = model(**tensors_of(inputs([index])), use_image_text_matching_head=True)
            references.append(as_array(output.logits_per_image[0]))
    return check_scorer(job.role, job.path(part.model), references, inputs, job.demands.logits, job.batches)


def _head(job: RoleJob, labels: Sequence[str], config: Any) -> tuple[torch.Tensor, torch.Tensor]:
    path = job.source.folder / CLASSIFIER
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


EXPORTERS = by_type(Exporter(prepare, export, check, Q_FORMER_CLASSES))
"""transformers' model type to what exports the role from it."""
