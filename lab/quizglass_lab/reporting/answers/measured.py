"""Measured figures: means over questions with their 95 % intervals, and costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from quizglass_lab.scoring.costs import TurnCost, cost_figures
from quizglass_lab.scoring.intervals import confidence_interval, wilson_interval

_OF_HUNDRED = ("BLEU", "judge", "reformulation BLEU")
"""Metrics whose scores are 0 to 100 already, and not 0 to 1."""
AVERAGE = "average of data sets"
"""How parts begin that are of several data sets, each of which counts alike."""
CIDER = "CIDEr"
"""Told times 100, as papers do; a good caption's is about 100, and it may be more."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured figure; shares in %, with their 95 % interval."""

    row: str
    """Which system, e.g. a policy's name."""
    metric: str
    value: float
    count: int
    """Number of questions that the figure is a mean of."""
    low: float | None = None
    high: float | None = None
    unit: str = "%"
    part: str = ""
    """Which questions, e.g. "multi-turn" or "domain: food"; empty: all."""
    note: str = ""
    """How it was measured, where that is not as in the paper."""


def measured(
    row: str, scores: Sequence[Mapping[str, float]], costs: Iterable[TurnCost] = (), *, part: str = "", note: str = ""
) -> list[Measured]:
    """Means of one system's scores, by metric in order of appearance, and the costs of its turns.

    Intervals are Wilson's where all scores are 0 or 1, else by bootstrap.
    """
    by_metric: dict[str, list[float]] = {}
    for each in scores:
        for name, value in each.items():
            by_metric.setdefault(name, []).append(value)
    figures = cost_figures(list(costs))
    return [
        *(mean(row, name, values, part=part, note=note) for name, values in by_metric.items()),
        *(Measured(row, each.name, each.value, each.count, unit=each.unit, part=part) for each in figures),
    ]


def mean(
    row: str, metric: str, values: Sequence[float], *, unit: str = "%", part: str = "", note: str = ""
) -> Measured:
    """The mean of one score a question with its interval; scores of 0 to 1 become % where the unit is."""
    if unit == "%" and metric not in (*_OF_HUNDRED, CIDER) and set(values) <= {0.0, 1.0}:
        low, high = wilson_interval(int(sum(values)), len(values))
    else:
        low, high = confidence_interval(values)
    scale = 100 if unit == "%" and metric not in _OF_HUNDRED else 1
    unit = "" if metric == CIDER else unit
    return Measured(row, metric, scale * fmean(values), len(values), scale * low, scale * high, unit, part, note)
