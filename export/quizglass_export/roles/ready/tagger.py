"""A tagger from a ready-made ONNX file with its labels: run, compared with itself in batches and with
the checkpoint that it was made of where there is one, and copied byte by byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from quizglass_bundle.errors import BundleError
from quizglass_bundle.parts import TaggerPart
from quizglass_export.checks import Check, at_most, share
from quizglass_export.errors import ExportError
from quizglass_export.parity import Floats, batches, session
from quizglass_export.roles import tagger
from quizglass_export.roles.ready.onnx_files import GraphForm, check_file, onnx_source
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob
from quizglass_export.roles.shared.pictures import pixels_of
from quizglass_export.roles.tagger import ReadyTagger
from quizglass_server.roles.shared.grids import blank
from quizglass_server.roles.shared.logits import softmax
from quizglass_server.roles.tagger import read_labels

_INPUT = "pixel_values"


def prepare(job: RoleJob, spec: ReadyTagger) -> None:
    """Check hash, names, shapes and labels, and run the model once.

    Raises:
        ExportError: another file than the recipe says, a graph that the server cannot run, or other labels than it
            has values.
    """
    model, picture = onnx_source(job).model, spec.picture
    form = GraphForm({_INPUT: (None, 3, picture.height, picture.width)}, spec.output, (None, None))
    check_file(model, spec.sha256, form)
    values = session(model).run([spec.output], {_INPUT: pixels_of([blank(picture)], picture)})[0]
    labels = _labels(job)
    try:
        count = len(read_labels(labels, str(labels)))
    except BundleError as error:
        raise ExportError(str(error)) from error
    if values.shape != (1, count):
        raise ExportError(f"{labels}: {count} labels, and {model} gives {list(values.shape)} for one picture")
    if spec.output == "probabilities" and not (values >= 0).all() & (values <= 1).all():
        raise ExportError(f"{model}: gives probabilities outside 0 to 1; if they are logits, name its output so")


def export(job: RoleJob, spec: ReadyTagger) -> Exported:
    """Copy model and labels."""
    part = TaggerPart(
        engine="onnx",
        kind="image-classifier",
        model=f"{job.role}/model.onnx",
        picture=spec.picture,
        labels=f"{job.role}/labels.txt",
        output=spec.output,
        least=spec.least,
        most=spec.most,
    )
    shutil.copyfile(onnx_source(job).model, job.path(part.model))
    shutil.copyfile(_labels(job), job.path(part.labels))
    return Exported(part, {"precision": spec.precision, "ready_made": True})


def check(job: RoleJob, spec: ReadyTagger, part: TaggerPart) -> list[Check]:
    """Pictures alone beside the same in batches, and beside the checkpoint where there is one."""
    run = session(job.path(part.model))

    def values(rows: Sequence[int]) -> Floats:
        outputs: list[Floats] = run.run([spec.output], tagger.inputs(job, part, rows))
        return outputs[0]

    alone = [values([row])[0] for row in range(len(job.samples))]
    together = [row for size in job.batches for part_of in batches(len(alone), size) for row in values(part_of)]
    measure, bound = f"largest difference of {spec.output}", job.demands.logits
    batched = _differences(together, alone * len(job.batches))
    checks = [at_most(job.role, f"{measure}, batches beside one at a time", batched, bound)]
    if (checkpoint := onnx_source(job).checkpoint) is not None:
        expected = tagger.references(replace(job, source=checkpoint), part)
        if spec.output == "probabilities":
            expected = [softmax(row).astype(np.float32) for row in expected]
        same = [int(row.argmax()) == int(other.argmax()) for row, other in zip(alone, expected, strict=True)]
        checks.append(at_most(job.role, measure, _differences(alone, expected), bound))
        checks.append(share(job.role, "equal labels", same, 1.0))
    return checks


def _labels(job: RoleJob) -> Path:
    labels = onnx_source(job).labels
    if labels is None:
        raise ExportError(f"roles.{job.role}.labels: missing; name a file with a label a line")
    return labels


def _differences(rows: Sequence[Any], others: Sequence[Any]) -> list[float]:
    return [float(np.abs(row - other).max()) for row, other in zip(rows, others, strict=True)]


EXPORTERS = {"onnx": Exporter(prepare, export, check, {})}
"""The role's exporters; ONNX files have no model type of their own."""
