"""A text encoder from a ready-made ONNX file: looked into, compared with itself and with the checkpoint
that it was made of where there is one, and copied byte by byte.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quizglass_bundle.parts import TextEncoderPart
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.parity import Floats, batches, check_vectors, session
from quizglass_export.roles import text_encoder
from quizglass_export.roles.ready.onnx_files import (
    TEXTS,
    TYPES,
    GraphForm,
    check_file,
    onnx_source,
    place_model,
    runs_at_length,
)
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob
from quizglass_export.roles.text_encoder import ReadyTextEncoder, TextEncoder
from quizglass_server.roles.text_encoder import pooled

_OUTPUT = "last_hidden_state"


def prepare(job: RoleJob, spec: ReadyTextEncoder) -> None:
    """Check hash, names, shapes, tokenizer and length; ExportError for what the server would refuse or cannot run."""
    form = GraphForm(TEXTS, spec.output, (None, None, spec.dimension), frozenset({TYPES}))
    check_file(onnx_source(job).model, spec.sha256, form)
    job.check_texts(spec.max_tokens)
    runs_at_length(job, onnx_source(job).model, spec.max_tokens, " ".join(_texts(job, spec)))


def export(job: RoleJob, spec: ReadyTextEncoder) -> Exported:
    """Copy the file that `prepare` has checked."""
    part = TextEncoderPart(
        engine="onnx",
        kind="text-encoder",
        model=f"{job.role}/model.onnx",
        tokenizer=job.tokenizer,
        dimension=spec.dimension,
        pooling=spec.pooling,
        query_prefix=spec.query_prefix,
        passage_prefix=spec.passage_prefix,
        max_tokens=spec.max_tokens,
    )
    place_model(onnx_source(job).model, job.path(part.model), spec.output, _OUTPUT)
    return Exported(part, {"precision": spec.precision, "ready_made": True})


def check(job: RoleJob, spec: ReadyTextEncoder, part: TextEncoderPart) -> list[Check]:
    """Texts alone beside the same in padded batches, and beside the checkpoint where there is one."""
    texts = _texts(job, part)
    alone, together = (_vectors(job, part, texts, size) for size in (1, max(job.batches)))
    itself = check_vectors(job.role, together, alone, job.cosine(spec))
    checks = [replace(itself, measure="smallest cosine, batches beside one at a time")]
    checkpoint = onnx_source(job).checkpoint
    if checkpoint is not None:
        described = TextEncoder(checkpoint=checkpoint.folder, precision=spec.precision, accept=spec.accept)
        checks += text_encoder.check(replace(job, source=checkpoint), described, part)
    return checks


def _texts(job: RoleJob, how: ReadyTextEncoder | TextEncoderPart) -> list[str]:
    """The queries and passages of the samples, as they are embedded."""
    texts = [how.query_prefix + sample.query for sample in job.samples]
    return texts + [how.passage_prefix + passage for sample in job.samples for passage in sample.passages]


def _vectors(job: RoleJob, part: TextEncoderPart, texts: list[str], size: int) -> list[Floats]:
    run = session(job.path(part.model))
    feed = text_encoder.tokenised(job, job.path(part.model), part.max_tokens, texts)
    vectors: list[Floats] = []
    for indices in batches(len(texts), size):
        inputs = feed(indices)
        states = run.run([_OUTPUT], inputs)[0]
        if states.shape[2:] != (part.dimension,):
            raise ExportError(f"{part.model}: states are {states.shape}, the recipe's dimension is {part.dimension}")
        vectors += list(pooled(states, inputs["attention_mask"].astype(np.int64), part.pooling))
    return vectors


EXPORTERS = {"onnx": Exporter(prepare, export, check, {})}
"""The role's exporters; ONNX files have no model type of their own."""
