"""`quizglass-lab average`: unweighted means over several data sets, as the planning agent's main table has them."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import TypeAdapter, ValidationError

from quizglass_export.errors import reason
from quizglass_export.terminal import PlainConsole, tell
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.reporting import report
from quizglass_lab.reporting.answers.measured import AVERAGE, Measured
from quizglass_lab.reporting.papers import systems

HELP = "the unweighted mean of several data sets' reports, as some papers' main tables have it"
_Key = tuple[str, str, str, str]


def averaged(reports: Mapping[str, Sequence[Measured]]) -> list[Measured]:
    """Of every figure that all data sets have, the mean of its values; data sets count alike, whatever their size.

    The interval is that of a mean of independent figures. The note names the data sets.

    Args:
        reports: the figures of each data set, by its name; two at least.
    """
    by_key: dict[_Key, list[Measured]] = {}
    for figures in reports.values():
        for figure in figures:
            by_key.setdefault((figure.row, figure.metric, figure.part, figure.unit), []).append(figure)
    note = f"over {len(reports)} data sets: {', '.join(reports)}"
    return [_mean(key, of_all, note) for key, of_all in by_key.items() if len(of_all) == len(reports)]


def _mean(key: _Key, figures: Sequence[Measured], note: str) -> Measured:
    row, metric, part, unit = key
    value, count = fmean(figure.value for figure in figures), sum(figure.count for figure in figures)
    of_all = Measured(row, metric, value, count, unit=unit, part=f"{AVERAGE}, {part}" if part else AVERAGE, note=note)
    halves = [(each.high - each.low) / 2 for each in figures if each.low is not None and each.high is not None]
    if len(halves) < len(figures):
        return of_all
    half = math.hypot(*halves) / len(figures)
    return replace(of_all, low=value - half, high=value + half)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "reports", metavar="REPORT", type=Path, nargs="+", help="what score, evaluate or benchmark print with --json"
    )
    parser.add_argument("--paper", action="append", default=[], choices=systems(), help="whose averages stand beside")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def run(args: argparse.Namespace) -> int:
    """Average and print. Returns 0, or 2 when a report does not do."""
    try:
        reports = dict(_read(path) for path in args.reports)
        if len(reports) < 2 or len(reports) < len(args.reports):
            raise DatasetError("expected reports of two data sets at least, one of each")
    except (DatasetError, OSError) as error:
        tell(f"quizglass-lab average: {error}", file=sys.stderr)
        return 2
    lines = [line for line in report.beside_papers(averaged(reports), args.paper) if line.part.startswith(AVERAGE)]
    if args.json:
        tell(report.as_record(lines, datasets=list(reports)))
    else:
        report.show(lines, f"means over {len(reports)} data sets: {', '.join(reports)}", PlainConsole())
    return 0


def _read(path: Path) -> tuple[str, list[Measured]]:
    """The name of a report's data set and its figures."""
    try:
        record = json.loads(path.read_bytes())
    except ValueError as error:
        raise DatasetError(f"{path}: not valid JSON: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.get("dataset"), str):
        raise DatasetError(f"{path}: dataset: expected a name, in a report of score, evaluate or benchmark --json")
    try:
        return record["dataset"], list(_measured(record.get("rows", record.get("table", []))))
    except (ValidationError, TypeError, AttributeError) as error:
        said = reason(error) if isinstance(error, ValidationError) else "expected a list of rows"
        raise DatasetError(f"{path}: rows: {said}") from None


def _measured(rows: Any) -> Iterator[Measured]:
    kind = TypeAdapter(Measured)
    seen = set()
    for row in rows:
        if (given := row.get("measured")) is not None:
            figure = kind.validate_python(given)
            if figure not in seen:  # one that stands beside several of a paper's tables is there as often
                seen.add(figure)
                yield figure
