"""The plot: recall against latency of indexes, and latency against size of stores, with their rounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bench.drawing import panels, reach, saved
from bench.results import RESULTS

_COLOURS = {
    "quizglass": "#2b6cb0",
    "quizglass index": "#2b6cb0",
    "hnswlib": "#a0aec0",
    "faiss": "#68d391",
    "usearch": "#f6ad55",
    "Chroma": "#fc8181",
    "LanceDB": "#b794f4",
}
_SIZES = {"10k": 10_000, "100k": 100_000}


def knowledge(data: Mapping[str, Any], folder: Path = RESULTS) -> Path | None:
    """A panel for each size that was measured and one for the stores; None when nothing was."""
    curves = {size: data[f"index-{size}"]["curves"] for size in _SIZES if f"index-{size}" in data}
    stores = {count: data[f"store-{size}"]["rounds_us"] for size, count in _SIZES.items() if f"store-{size}" in data}
    count = len(curves) + bool(stores)
    if not count:
        return None
    figure, [row] = panels(count, 4 * count, 3.4)
    for panel, (size, contenders) in zip(row, curves.items(), strict=False):
        for name, points in contenders.items():
            at = [point["p50_us"] for point in points], [point["recall"] for point in points]
            panel.plot(*at, "o-", markersize=3, color=_COLOURS.get(name), label=name)
        panel.set(title=f"{_SIZES[size]:,} vectors", xlabel="median, µs", ylabel="recall@10", xscale="log")
        panel.xaxis.set_minor_formatter("")  # between powers of ten there is no room for more
    if stores:
        for name in _COLOURS:
            sizes = [size for size, took in stores.items() if name in took]
            if sizes:
                rounds = [[took / 1e3 for took in stores[size][name]] for size in sizes]
                heights = [median(each) for each in rounds]
                spread = reach(heights, rounds)
                row[-1].errorbar(sizes, heights, spread, fmt="o-", elinewidth=0.8, color=_COLOURS[name], label=name)
        row[-1].set(title="stores, recall 0.99", xlabel="vectors", ylabel="median, ms", xscale="log", yscale="log")
    for panel in row:
        panel.legend(frameon=False, fontsize=8)
    return saved(figure, folder / "knowledge.png")
