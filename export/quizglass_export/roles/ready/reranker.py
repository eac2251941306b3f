"""A cross-encoder from a ready-made ONNX file: looked into, compared with itself and with the checkpoint
that it was made of where there is one, and copied byte by byte.
"""

from __future__ import annotations

from dataclasses import replace

from quizglass_bundle.parts import CrossEncoderPart
from quizglass_export.checks import Check, at_most
from quizglass_export.parity import scored
from quizglass_export.roles import reranker
from quizglass_export.roles.ready.onnx_files import (
    TEXTS,
    TYPES,
    GraphForm,
    check_file,
    onnx_source,
    place_model,
    runs_at_length,
)
from quizglass_export.roles.reranker import ReadyReranker, Reranker
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob
from quizglass_export.roles.text_encoder import tokenised


def prepare(job: RoleJob, spec: ReadyReranker) -> None:
    """Check hash, names, shapes, tokenizer and length; ExportError for what the server would refuse or cannot run."""
    form = GraphForm(TEXTS, spec.output, (None, spec.logits), frozenset({TYPES}))
    check_file(onnx_source(job).model, spec.sha256, form)
    job.check_texts(spec.max_tokens)
    passages = " ".join(passage for _, passage in reranker.pairs_of(job))
    runs_at_length(job, onnx_source(job).model, spec.max_tokens, ("a", passages))


def export(job: RoleJob, spec: ReadyReranker) -> Exported:
    """Copy the file that `prepare` has checked."""
    part = CrossEncoderPart(
        engine="onnx",
        kind="cross-encoder",
        model=f"{job.role}/model.onnx",
        tokenizer=job.tokenizer,
        max_tokens=spec.max_tokens,
        logits=spec.logits,
        relevant=spec.logits - 1 if spec.relevant is None else spec.relevant,
    )
    place_model(onnx_source(job).model, job.path(part.model), spec.output, "logits")
    return Exported(part, {"precision": spec.precision, "ready_made": True})


def check(job: RoleJob, spec: ReadyReranker, part: CrossEncoderPart) -> list[Check]:
    """Pairs alone beside the same in padded batches, and beside the checkpoint where there is one."""
    pairs = reranker.pairs_of(job)
    feed = tokenised(job, job.path(part.model), part.max_tokens, pairs)
    alone, batched = scored(job.path(part.model), feed, len(pairs), job.batches)
    differences = [float(abs(a - b).max()) for rows in batched for a, b in zip(alone, rows, strict=True)]
    bound = job.demands.logits if spec.precision == "fp32" else spec.accept.drift
    checks = [at_most(job.role, "largest difference of logits, batches beside one at a time", differences, bound)]
    checkpoint = onnx_source(job).checkpoint
    if checkpoint is not None:
        described = Reranker(checkpoint=checkpoint.folder, precision=spec.precision, accept=spec.accept)
        checks += reranker.check_cross_encoder(replace(job, source=checkpoint), described, part)
    return checks


EXPORTERS = {"onnx": Exporter(prepare, export, check, {})}
"""The role's exporters; ONNX files have no model type of their own."""
