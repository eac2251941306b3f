"""Exported models of one role run side by side on the same samples, and how far their outputs are apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quizglass_export.checks import Acceptance, Check, at_least
from quizglass_export.onnx.accept import Feed, compare_labels, probabilities
from quizglass_export.parity import Floats, Inputs, session

Run = Callable[[Inputs], Sequence[Floats]]
Distance = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SampleRuns:
    """What it takes to run and compare a role's models on samples, one at a time, as a server does for one request.

    Attributes:
        count: how many samples there are.
        inputs: makes the tensors of each.
        opened: loads the model that was exported into a folder, on one thread.
        apart: distances of two models' outputs for one sample.
        judged: comparisons by the distances of several samples, bounded as `accept` says.
    """

    count: int
    inputs: Callable[[int], Inputs]
    opened: Callable[[Path], Run]
    apart: Callable[[Sequence[Floats], Sequence[Floats]], Distance]
    judged: Callable[[Sequence[Distance]], list[Check]]


def scorer_runs(
    role: str, model: str, feed: Feed, count: int, accept: Acceptance, rows: Sequence[int] | None = None
) -> SampleRuns:
    """Of models that give logits.

    Args:
        role: the scorer's role.
        model: name of its file.
        feed: makes the inputs for a list of samples.
        count: how many samples there are.
        accept: bounds.
        rows: places of the labels among the model's logits; None: they are all of them.
    """

    def apart(found: Sequence[Floats], expected: Sequence[Floats]) -> Distance:
        one, other = (each[0][0] if rows is None else each[0][0][list(rows)] for each in (found, expected))
        drift = np.abs(probabilities(one) - probabilities(other)).max()
        return float(one.argmax() == other.argmax()), float(drift)

    def judged(distances: Sequence[Distance]) -> list[Check]:
        return compare_labels(role, [bool(same) for same, _ in distances], [drift for _, drift in distances], accept)

    return SampleRuns(count, lambda index: feed([index]), _opener(model, "logits"), apart, judged)


def encoder_runs(
    role: str,
    model: str,
    output: str,
    feed: Feed,
    count: int,
    accept: Acceptance,
    pool: Callable[[Floats, Inputs], Floats] = lambda values, _: values,
) -> SampleRuns:
    """Of models that give vectors.

    Args:
        role: the encoder's role.
        model: name of its file.
        output: name of its output.
        feed: makes the inputs for a list of samples.
        count: how many samples there are.
        accept: bounds.
        pool: makes vectors [B, D] of the output and the inputs.
    """
    load = _opener(model, output)

    def opened(folder: Path) -> Run:
        run = load(folder)
        return lambda inputs: [pool(run(inputs)[0], inputs)]

    def apart(found: Sequence[Floats], expected: Sequence[Floats]) -> Distance:
        one, other = found[0][0], expected[0][0]
        return (float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other))),)

    def judged(distances: Sequence[Distance]) -> list[Check]:
        return [at_least(role, "smallest cosine", [cosine for (cosine,) in distances], accept.cosine)]

    return SampleRuns(count, lambda index: feed([index]), opened, apart, judged)


def _opener(model: str, output: str) -> Callable[[Path], Run]:
    def opened(folder: Path) -> Run:
        run = session(folder / model)

        def outputs(inputs: Inputs) -> list[Floats]:
            values: list[Floats] = run.run([output], inputs)
            return values

        return outputs

    return opened
