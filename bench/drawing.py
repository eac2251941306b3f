"""What the plots of all benchmarks have in common."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure


def panels(columns: int, width: float, height: float, *, rows: int = 1) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure of so many inches, and its panels, row by row, without lines above and on the right."""
    figure = Figure(figsize=(width, height), layout="constrained")
    grid: list[list[Axes]] = figure.subplots(rows, columns, squeeze=False).tolist()
    for row in grid:
        for axes in row:
            axes.spines[["top", "right"]].set_visible(False)
    return figure, grid


def reach(values: Sequence[float], rounds: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """How far the least and the largest of each point's rounds lie below and above its value, as error bars take it."""
    pairs = list(zip(values, rounds, strict=True))
    return [value - min(each) for value, each in pairs], [max(each) - value for value, each in pairs]


def saved(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG; returns the path."""
    figure.savefig(path, dpi=110)
    return path
