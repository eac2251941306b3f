"""One system beside another over the same questions: the mean difference, with a paired interval.

Systems that answer the same questions are right on many of the same ones, so their difference is known better than
their two intervals say. A policy with what the server adds stands beside the published one: a name that ends in "+"
beside the one without, and `none`, `image`, `text` and `both` beside the pipelines that always do the same. QA-Dragon
without one of its parts stands beside the whole, as in its paper's ablations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.scoring.intervals import confidence_interval

_PUBLISHED = {"none": "no-search", "image": "always-image", "text": "always-text", "both": "always-both"}
_SCORES = {"accuracy": 100.0, "truthfulness": 100.0, "f1": 100.0, "judge": 1.0}
"""By metric the points of a score of 1."""
_WHOLE = "qa-dragon"
NEEDS = {f"accuracy beyond {_WHOLE}": f"answers of {_WHOLE} to the same questions"}


def figures(runs: Runs, against: str = "") -> list[Measured]:
    """The differences of every system with additions from the published one, and of every other system from one.

    Args:
        runs: judged answers by row, over the same questions in the same order.
        against: the row that all others are compared with; empty: none.
    """
    pairs = {(row, against): None for row in runs if row != against}
    pairs |= {(row, _PUBLISHED.get(row, row.removesuffix("+"))): None for row in runs}
    pairs |= {(row, _WHOLE + "+" * row.endswith("+")): None for row in runs if row.startswith(f"{_WHOLE}-")}
    return [
        each
        for row, other in pairs
        if other in runs and other != row
        for each in _of_two(row, runs[row], other, runs[other])
    ]


def _of_two(row: str, ours: Sequence[ScoredAnswer], other: str, theirs: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    for metric, points in _SCORES.items():
        differences = [
            points * (one.scores[metric] - two.scores[metric])
            for one, two in zip(ours, theirs, strict=True)
            if metric in one.scores and metric in two.scores
        ]
        if differences:
            yield _difference(row, f"{metric} beyond {other}", differences, "points")
    seconds = [
        one.answered.cost.search_s - two.answered.cost.search_s
        for one, two in zip(ours, theirs, strict=True)
        if one.answered.cost.search_s is not None and two.answered.cost.search_s is not None
    ]
    if seconds:
        yield _difference(row, f"search time beyond {other}", seconds, "s")


def _difference(row: str, metric: str, differences: Sequence[float], unit: str) -> Measured:
    low, high = confidence_interval(differences)
    return Measured(row, metric, sum(differences) / len(differences), len(differences), low, high, unit)
