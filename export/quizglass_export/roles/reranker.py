"""The reranker: a text model's "yes" and "no", or a cross-encoder; exported and compared with PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
from pydantic import Discriminator, Field, Tag

from quizglass_bundle.errors import BundleError
from quizglass_bundle.fields import Count
from quizglass_bundle.parts import CrossEncoderPart
from quizglass_export.checkpoints.loading import read_config
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.onnx.accept import apply_precision, check_lossy_scorer
from quizglass_export.onnx.optimum_encoders import write_cross_encoder
from quizglass_export.onnx.sample_runs import SampleRuns, scorer_runs
from quizglass_export.parity import as_array, check_scorer
from quizglass_export.roles.shared.entry import RELEVANCE_LABELS, Labels, ReadyOnnx, Scorer, TemplateName, is_ready
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob, by_type
from quizglass_export.roles.shared.samples import long_passage
from quizglass_export.roles.shared.scorers import (
    TEXT_CLASSES,
    check_text_scorer,
    export_text_scorer,
    prepare_text_scorer,
    text_scorer_runs,
)
from quizglass_export.roles.text_encoder import longest, reference_tokenizer, tokenised
from quizglass_server.roles.reranker import check_labels

CLASSES = {
    "bert": "BertForSequenceClassification",
    "xlm-roberta": "XLMRobertaForSequenceClassification",
    "modernbert": "ModernBertForSequenceClassification",
}
_POSITIONS = r".*\.position_ids$"


class Reranker(Scorer):
    """The fine reranker's defaults: yes and no."""

    labels: Labels = RELEVANCE_LABELS
    prompt: Annotated[TemplateName, Field(min_length=1)] = "rerank"
    max_tokens: Count = 256


class ReadyReranker(ReadyOnnx):
    """A query and a passage, encoded as a pair, to a relevance: as above to `logits` [B, logits]."""

    tokenizer: Path
    max_tokens: Count = 256
    logits: Count = 1
    """How many the model gives; of one, the relevance is its sigmoid, of more, the softmax at `relevant`."""
    relevant: Annotated[int, Field(ge=0)] | None = None
    """Default: the last."""
    output: str = "logits"
    """Name of the output that is taken, where the file has another; it is renamed in the bundle."""


ENTRY = Annotated[
    Annotated[Reranker, Tag("<checkpoint>")] | Annotated[ReadyReranker, Tag("<ready>")],
    Discriminator(is_ready),
]
"""What a recipe says of the role."""


def prepare_scorer(job: RoleJob, spec: Scorer) -> None:
    """Check what is known without weights: prompt, labels, tokenizer."""
    try:
        check_labels([name for name, _ in spec.labels])
    except BundleError as error:
        raise ExportError(str(error)) from error
    prepare_text_scorer(job, spec)


def prepare_cross_encoder(job: RoleJob, spec: Reranker) -> None:
    """Check what is known without weights: the tokenizer, and that nothing is asked for that it does not have."""
    if own := sorted(spec.model_fields_set & {"labels", "prompt", "picture", "grids", "image_token"}):
        raise ExportError(
            f"roles.{job.role}.{own[0]}: a cross-encoder ({job.source.model_type}) has none; leave it out"
        )
    config = read_config(job.source.folder)
    job.check_texts(min(spec.max_tokens, longest(config)))


def export_cross_encoder(job: RoleJob, spec: Reranker) -> Exported:
    """Export a cross-encoder with a classification head."""
    model = job.source.load(CLASSES[job.source.model_type], ignore=_POSITIONS)
    logits = int(model.config.num_labels)
    part = CrossEncoderPart(
        engine="onnx",
        kind="cross-encoder",
        model=f"{job.role}/model.onnx",
        tokenizer=job.tokenizer,
        max_tokens=min(spec.max_tokens, longest(model.config)),
        logits=logits,
        relevant=logits - 1,
        pad_to=job.pad_to(spec),
    )
    write_cross_encoder(model, job.path(part.model))
    pairs = pairs_of(job)
    feed = tokenised(job, job.path(part.model), part.max_tokens, pairs)
    return Exported(part, apply_precision(job.path(part.model), spec.precision, feed, len(pairs), "bert"))


def pairs_of(job: RoleJob) -> list[tuple[str, str]]:
    """Query and passage, as many as there are samples."""
    return [(sample.query, passage) for sample in job.samples for passage in sample.passages][: len(job.samples)]


def check_cross_encoder(job: RoleJob, spec: Reranker, part: CrossEncoderPart) -> list[Check]:
    """Compare a cross-encoder's logits with transformers', pairs encoded by transformers' own tokenizer."""
    model = job.source.reference(CLASSES[job.source.model_type], ignore=_POSITIONS)
    pairs = [*pairs_of(job), (job.samples[0].query, long_passage(job.samples))]
    feed = tokenised(job, job.path(part.model), part.max_tokens, pairs)
    tokenizer = reference_tokenizer(job.source)
    references = []
    with torch.no_grad():
        for query, passage in pairs:
            row = tokenizer(query, passage, truncation="longest_first", max_length=part.max_tokens, return_tensors="pt")
            references.append(as_array(model(**row).logits[0]))
    if spec.precision == "fp32":
        return check_scorer(job.role, job.path(part.model), references, feed, job.demands.logits, job.batches)
    return check_lossy_scorer(job.role, job.path(part.model), references, feed, spec.accept, job.batches)


def cross_encoder_runs(job: RoleJob, spec: Reranker, part: CrossEncoderPart) -> SampleRuns:
    """Runs of a cross-encoder's models."""
    pairs = pairs_of(job)
    feed = tokenised(job, job.path(part.model), part.max_tokens, pairs)
    return scorer_runs(job.role, part.model, feed, len(pairs), spec.accept)


EXPORTERS = by_type(
    Exporter(prepare_scorer, export_text_scorer, check_text_scorer, TEXT_CLASSES, text_scorer_runs),
    Exporter(prepare_cross_encoder, export_cross_encoder, check_cross_encoder, CLASSES, cross_encoder_runs),
)
"""transformers' model type to what exports the role from it."""
