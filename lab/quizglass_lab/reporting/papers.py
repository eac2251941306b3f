"""The papers' own tables, as data."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """One figure of one table of a paper."""

    system: str
    """planning-agent, cogplanner, qa-dragon or core-mmrag."""
    paper: str
    table: str
    row: str
    metric: str
    value: float
    unit: str = "%"
    dataset: str = ""
    """Name, as in BENCHMARKS, of the benchmark that the table is about; empty where it is about several."""
    part: str = ""
    """Of which questions, as `Measured.part` has it; empty: of all."""
    takes: str = ""
    """Which answers a row is measured by whose name no policy has."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Cells of a paper's main tables that are not among the figures."""

    system: str
    cells: str
    why: str


@cache
def paper_figures() -> tuple[PaperFigure, ...]:
    """All figures, table by table."""
    return tuple(figure for table in _file()["tables"] for figure in _of(table))


@cache
def left_out() -> tuple[LeftOut, ...]:
    """What of the main tables has no figure here, system by system."""
    return tuple(LeftOut(each["name"], each["cells"], each["why"]) for each in _file()["left_out"])


def _file() -> dict[str, Any]:
    text = resources.files("quizglass_lab.reporting").joinpath("papers.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _of(table: dict[str, Any]) -> list[PaperFigure]:
    """The figures of a table; `metric`, `unit` and `part` of a row go before those of its table."""
    figures = []
    for row in table["rows"]:
        said = {**table, **row}
        figures.append(
            PaperFigure(
                table["name"],
                table["paper"],
                table["table"],
                row["name"],
                said["metric"],
                float(row["value"]),
                said.get("unit", "%"),
                said.get("dataset", ""),
                said.get("part", ""),
                row.get("takes", ""),
            )
        )
    return figures


def systems() -> tuple[str, ...]:
    """The systems whose tables there are, in order."""
    return tuple(dict.fromkeys(figure.system for figure in paper_figures()))
