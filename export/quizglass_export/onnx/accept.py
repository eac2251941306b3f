"""Whether a model of less than float32 may stand for its source: by the labels and scores it gives on samples."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quizglass_export.checks import (
    CARD_PRECISIONS,
    Acceptance,
    CardPrecision,
    Check,
    Precision,
    Quickest,
    at_most,
    share,
)
from quizglass_export.errors import ExportError
from quizglass_export.onnx.file import halve_weights, part_weights
from quizglass_export.onnx.precision import fuse_encoder, to_float16, to_int8
from quizglass_export.onnx.quantise import quantise_products
from quizglass_export.onnx.weight_only import to_weight_only
from quizglass_export.parity import BATCHES, Floats, Inputs, scored, session

Feed = Callable[[Sequence[int]], Inputs]
_CALIBRATED = 64
_TIMED = 24
_BY_BATCH = 1e-5
"""Most that a probability may change with the other rows of its batch."""


def apply_precision(
    path: Path, precision: Precision | CardPrecision | Quickest, inputs: Feed, count: int, form: str = ""
) -> dict[str, Any]:
    """Convert a float32 model in place, and time it.

    Args:
        path: the ONNX file.
        precision: what it becomes; float32 weights are stored in half the bytes where that loses nothing, and large
            ones beside the model.
        inputs: makes inputs from indices of samples.
        count: how many samples there are; every other one calibrates, up to 64.
        form: of an encoder whose operators are fused for CUDA, as `fuse_encoder` names it; empty: the graph was written
            with those of a card.

    Returns:
        Notes for the report: precision, bytes before, products changed, calibration samples, and the median time of
        one sample alone in milliseconds.
    """
    beside = path.with_name(f"{path.name}.data")
    before = sum(file.stat().st_size for file in (path, beside) if file.exists())
    notes: dict[str, Any] = {"precision": precision, "float32_bytes": before}
    if beside.exists() and precision == "fp32":
        return notes  # halved when it was written
    if precision == "fp32":
        halve_weights(path)
    elif precision in ("fp16", *CARD_PRECISIONS):
        if precision == "cuda-fp16" and form:
            fuse_encoder(path, form)
        notes["weights"] = to_float16(path, path)
    elif precision == "int8":
        chosen = range(0, count, 2)[:_CALIBRATED]
        notes["products"] = to_int8(path, path, (inputs([index]) for index in chosen))
        notes["calibration_samples"] = len(chosen)
    elif precision == "int8-rows":
        notes["products"] = quantise_products(path, path)
        halve_weights(path)
    elif precision in ("int8-weights", "int4-weights"):
        notes["products"] = to_weight_only(path, path, 8 if precision == "int8-weights" else 4)
    else:
        raise ExportError(f"{path}: {precision} is a choice among precisions, and none of them")
    part_weights(path)
    notes["latency_ms"] = latency(path, inputs, count)
    return notes


def latency(path: Path, inputs: Feed, count: int) -> float:
    """Median milliseconds of one sample alone, on one thread, after a first run that is not counted."""
    run = session(path)
    given = [inputs([index]) for index in range(min(count, _TIMED))]
    run.run(None, given[0])
    times = []
    for each in given:
        started = time.perf_counter()
        run.run(None, each)
        times.append((time.perf_counter() - started) * 1e3)
    return round(statistics.median(times), 3)


def check_lossy_scorer(
    role: str,
    path: Path,
    references: Sequence[Floats],
    inputs: Feed,
    accept: Acceptance,
    sizes: Sequence[int] = BATCHES,
    rows: Sequence[int] | None = None,
) -> list[Check]:
    """Compare a scorer of less than float32 with PyTorch by labels and probabilities.

    Args:
        role: the scorer's role.
        path: the ONNX file.
        references: PyTorch's label logits [L] of each sample.
        inputs: makes the ONNX inputs for a list of sample indices.
        accept: bounds.
        sizes: of the batches that may change no probability.
        rows: places of the labels among the model's logits; None: they are all of them.
    """
    count = len(references)
    alone, together = scored(path, inputs, count, sizes, rows)
    same = [int(row.argmax()) == int(other.argmax()) for row, other in zip(alone, references, strict=True)]
    expected = [probabilities(row) for row in references]
    found = [probabilities(row) for row in alone]
    drift = [float(np.abs(row - other).max()) for row, other in zip(found, expected, strict=True)]
    moved = [
        float(np.abs(row - probabilities(other)).max())
        for rows in together
        for row, other in zip(found, rows, strict=True)
    ]
    return [
        *compare_labels(role, same, drift, accept),
        at_most(role, "largest change of a probability by its batch", moved, _BY_BATCH),
    ]


def compare_labels(role: str, same: Sequence[bool], drift: Sequence[float], accept: Acceptance) -> list[Check]:
    """The comparisons of labels and probabilities, by whether each sample's label is the same and the largest change of
    its probabilities."""
    mean, worst = statistics.fmean(drift), f"largest {max(drift):.4g}"
    held = mean <= accept.drift
    return [
        share(role, "equal labels", same, accept.labels),
        Check(role, "mean change of a probability", mean, f"<= {accept.drift:g}", len(drift), held, worst),
    ]


def probabilities(logits: Floats) -> Floats:
    """Softmax; of a single logit its sigmoid."""
    if logits.size == 1:
        return np.asarray(1 / (1 + np.exp(-logits.astype(np.float64))), np.float32)
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(weights / weights.sum(), np.float32)
