"""What the plots of all benchmarks have in common."""

from __future__ import annotations

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


def saved(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG; returns the path."""
    figure.savefig(path, dpi=110)
    return path
