"""A table of measured results, each beside the same row and measure of the paper where it has one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from quizglass_lab.reporting.papers import PaperFigure, paper_figures
from quizglass_lab.scoring.costs import TurnCost, cost_figures
from quizglass_lab.scoring.intervals import confidence_interval, wilson_interval

_OF_HUNDRED = ("BLEU", "judge")
"""Metrics whose scores are 0 to 100 already, and not 0 to 1."""
CIDER = "CIDEr"
"""Told times 100, as papers do; a good caption's is about 100, and it may be more."""
SPLITS_TOGETHER = "relaxed, harmonic mean of both"
"""InfoSeek's final score, which papers call its accuracy on all."""
_SAME = {"relaxed": (SPLITS_TOGETHER, "relaxed")}
"""What a paper calls so is the first of these that was measured."""


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


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A measured figure, a paper's, or both."""

    row: str
    metric: str
    measured: Measured | None
    paper: PaperFigure | None


def measured(row: str, scores: Sequence[Mapping[str, float]], costs: Iterable[TurnCost] = ()) -> list[Measured]:
    """Means of one system's scores, by metric in order of appearance, and what its turns cost.

    Intervals are Wilson's where all scores are 0 or 1, else by bootstrap.
    """
    by_metric: dict[str, list[float]] = {}
    for each in scores:
        for name, value in each.items():
            by_metric.setdefault(name, []).append(value)
    figures = cost_figures(list(costs))
    return [
        *(_mean(row, name, values) for name, values in by_metric.items()),
        *(Measured(row, figure.name, figure.value, figure.count, unit=figure.unit) for figure in figures),
    ]


def _mean(row: str, metric: str, values: list[float]) -> Measured:
    if metric not in (*_OF_HUNDRED, CIDER) and set(values) <= {0.0, 1.0}:
        low, high = wilson_interval(int(sum(values)), len(values))
    else:
        low, high = confidence_interval(values)
    scale, unit = (1 if metric in _OF_HUNDRED else 100), ("" if metric == CIDER else "%")
    return Measured(row, metric, scale * fmean(values), len(values), scale * low, scale * high, unit)


def beside_papers(results: Sequence[Measured], systems: Sequence[str] = (), dataset: str = "") -> list[ReportLine]:
    """Measured figures in their order, then what the papers have and was not measured.

    Args:
        results: what was measured.
        systems: whose papers stand beside; none without.
        dataset: papers' tables about another benchmark are left out.
    """
    figures = [
        figure
        for figure in paper_figures()
        if figure.system in systems and (not dataset or figure.dataset in ("", dataset))
    ]
    lines: list[ReportLine] = []
    used: set[PaperFigure] = set()
    for result in results:
        same: list[PaperFigure] = [figure for figure in figures if _matches(figure, result, results)]
        used |= set(same)
        lines += [ReportLine(result.row, result.metric, result, figure) for figure in (same or (None,))]
    return lines + [ReportLine(f.row, f.metric, None, f) for f in figures if f not in used]


def _matches(figure: PaperFigure, result: Measured, results: Sequence[Measured]) -> bool:
    if figure.metric == "recall":
        return figure.row == result.metric
    if figure.row != result.row:
        return False
    candidates = _SAME.get(figure.metric, (figure.metric,))
    metrics = {each.metric for each in results if each.row == result.row}
    return result.metric == next((name for name in candidates if name in metrics), None)


def as_record(lines: Sequence[ReportLine], **details: Any) -> str:
    """The table as JSON."""
    return json.dumps(details | {"rows": [asdict(line) for line in lines]}, indent=2)


def show(lines: Sequence[ReportLine], title: str, console: Console) -> None:
    """Print the table for people."""
    table = Table(title=title)
    for heading in ("", "metric", "measured", "95 % interval", "n", "paper", "its table"):
        justify: JustifyMethod = "right" if heading in ("measured", "n", "paper") else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for line in lines:
        ours, paper = line.measured, line.paper
        interval = f"{ours.low:.1f} to {ours.high:.1f}" if ours and ours.low is not None else ""
        table.add_row(
            Text(line.row),  # named on a command line: brackets are no markup
            line.metric,
            f"{ours.value:.4g} {ours.unit}" if ours else "not measured",
            interval,
            str(ours.count) if ours else "",
            f"{paper.value:g} {paper.unit}" if paper else "",
            f"{paper.system}: {paper.table}" if paper else "",
        )
    console.print(table)
