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


@cache
def paper_figures() -> tuple[PaperFigure, ...]:
    """All figures, table by table."""
    text = resources.files("quizglass_lab.reporting").joinpath("papers.toml").read_text(encoding="utf-8")
    return tuple(figure for table in tomllib.loads(text)["tables"] for figure in _of(table))


def _of(table: dict[str, Any]) -> list[PaperFigure]:
    unit, dataset = table.get("unit", "%"), table.get("dataset", "")
    return [
        PaperFigure(
            table["name"],
            table["paper"],
            table["table"],
            row["name"],
            table["metric"],
            float(row["value"]),
            unit,
            dataset,
        )
        for row in table["rows"]
    ]


def systems() -> tuple[str, ...]:
    """The systems whose tables there are, in order."""
    return tuple(dict.fromkeys(figure.system for figure in paper_figures()))
