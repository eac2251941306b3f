"""A table of measured results, each beside the same row and measure of the paper where it has one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from quizglass_lab.reporting.answers.measured import AVERAGE, Measured
from quizglass_lab.reporting.papers import PaperFigure, left_out, paper_figures
from quizglass_lab.reporting.rules.table import NEEDS


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A measured figure, a paper's, or both."""

    row: str
    metric: str
    measured: Measured | None
    paper: PaperFigure | None
    reason: str = ""
    """Why a paper's figure was not measured; empty where it was."""

    @property
    def part(self) -> str:
        """Of which questions it is; empty: of all."""
        either = self.measured or self.paper
        return either.part if either else ""


def beside_papers(results: Sequence[Measured], systems: Sequence[str] = (), dataset: str = "") -> list[ReportLine]:
    """Measured figures in their order, then those of the papers that were not measured, each with the reason.

    Args:
        results: measured figures.
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
        same: list[PaperFigure] = [figure for figure in figures if _matches(figure, result)]
        used |= set(same)
        lines += [ReportLine(result.row, result.metric, result, figure) for figure in (same or (None,))]
    return lines + [ReportLine(f.row, f.metric, None, f, not_measured(f, results)) for f in figures if f not in used]


def _matches(figure: PaperFigure, result: Measured) -> bool:
    of_paper, ours = ((each.row, each.metric, each.part) for each in (figure, result))
    return of_paper == ours


def not_measured(figure: PaperFigure, results: Sequence[Measured]) -> str:
    """Why none of the results is what a paper's figure says."""
    if figure.part.startswith(AVERAGE) and not any(result.part.startswith(AVERAGE) for result in results):
        return "it takes the reports of several data sets, as quizglass-lab average puts them together"
    of_row = [result for result in results if result.row == figure.row]
    if not of_row:
        return f"no answers of a row named {figure.row}" + (f"; it takes {figure.takes}" if figure.takes else "")
    if all(result.metric != figure.metric for result in of_row):
        return f"it takes {NEEDS[figure.metric]}"
    return f"no questions of this part: {figure.part}" if figure.part else "measured of parts alone"


def as_record(lines: Sequence[ReportLine], **details: Any) -> str:
    """The table as JSON."""
    return json.dumps(details | {"rows": [asdict(line) for line in lines]}, indent=2)


def show(lines: Sequence[ReportLine], title: str, console: Console) -> None:
    """Print for people: each table of a paper beside what was measured, all figures, then of each metric its parts."""
    of_paper = {line.paper: line for line in lines if line.paper}
    tables: dict[str, list[ReportLine]] = {}
    for figure in paper_figures():
        if figure in of_paper:
            tables.setdefault(f"{figure.system}: {figure.table}", []).append(of_paper[figure])
    for name, of_table in tables.items():
        console.print(_table(of_table, name, ("", "metric", "paper", "measured", "95 % interval", "n", "note")))
    shown = {line.paper.system for line in of_paper.values() if line.paper}
    for absent in left_out():
        if absent.system in shown:
            console.print(Text(f"not in the tables of {absent.system}: {absent.cells} ({absent.why})"))
    figures = dict.fromkeys(line.measured for line in lines if line.measured)
    if whole := [ReportLine(each.row, each.metric, each, None) for each in figures if not each.part]:
        console.print(_table(whole, title, ("", "metric", "measured", "95 % interval", "n", "note")))
    parts: dict[str, dict[tuple[str, str], Measured]] = {}
    for each in figures:
        if each.part:
            parts.setdefault(each.metric, {})[each.part, each.row] = each
    for metric, cells in parts.items():
        console.print(_by_part(metric, cells, title))


def _table(lines: Sequence[ReportLine], title: str, headings: Sequence[str]) -> Table:
    """A row a figure; a note that no row has is left out."""
    rows = [_cells(line) for line in lines]
    shown = [heading for heading in headings if heading != "note" or any(row[heading] for row in rows)]
    table = Table(title=title)
    for heading in shown:
        justify: JustifyMethod = "right" if heading in ("measured", "n", "paper") else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[heading]) for heading in shown))  # as text: names of rows may have brackets
    return table


def _cells(line: ReportLine) -> dict[str, str]:
    ours, paper = line.measured, line.paper
    return {
        "": line.row,
        "metric": f"{line.metric} ({line.part})" if line.part else line.metric,
        "paper": f"{paper.value:g} {paper.unit}" if paper else "",
        "measured": f"{ours.value:.4g} {ours.unit}" if ours else "not measured",
        "95 % interval": _interval(ours) if ours else "",
        "n": str(ours.count) if ours else "",
        "note": ours.note if ours else line.reason,
    }


def _by_part(metric: str, cells: Mapping[tuple[str, str], Measured], title: str) -> Table:
    """The parts of one metric, a column a system; a cell says its value, its interval and the number of questions."""
    rows = list(dict.fromkeys(row for _, row in cells))
    notes = dict.fromkeys(figure.note for figure in cells.values() if figure.note)
    table = Table("part", title=f"{title}: {metric}", caption=Text("; ".join(notes)) if notes else None)
    for row in rows:
        table.add_column(Text(row))
    for part in dict.fromkeys(part for part, _ in cells):
        table.add_row(Text(part), *(_cell(cells.get((part, row))) for row in rows))
    return table


def _cell(figure: Measured | None) -> str:
    if figure is None:
        return "no such answers"
    interval = f" ({_interval(figure)})" if figure.low is not None else ""
    return f"{figure.value:.4g} {figure.unit}{interval}, n {figure.count}"


def _interval(figure: Measured) -> str:
    return f"{figure.low:.1f} to {figure.high:.1f}" if figure.low is not None else ""
