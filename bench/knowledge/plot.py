"""Plots: recall against latency, and latency against size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

from bench.results import RESULTS

mpl.use("Agg")
_COLOURS = {
    "quizglass": "#2b6cb0",
    "hnswlib": "#a0aec0",
    "faiss": "#68d391",
    "usearch": "#f6ad55",
    "chroma": "#fc8181",
    "lancedb": "#b794f4",
}


def both(measured: Mapping[str, Any]) -> list[Path]:
    """Both plots, of what was measured of them."""
    sizes = [size for size in measured["sizes"] if f"ours {size}" in measured]
    return [recall(measured, sizes), size(measured, sizes)] if sizes else []


def recall(measured: Mapping[str, Any], sizes: list[int]) -> Path:
    """Recall against the median latency of an index, by how far it explores."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(sizes), figsize=(4.2 * len(sizes), 3.6), layout="constrained", squeeze=False)
    for axes, count in zip(panels[0], sizes, strict=True):
        curves = {"quizglass": measured[f"ours {count}"]["search"].get("curve", [])}
        curves |= {name: peer["curve"] for name, peer in measured[f"peers {count}"].items() if "curve" in peer}
        for name, points in curves.items():
            at = [point["p50_us"] for point in points], [point["recall"] for point in points]
            axes.plot(*at, marker="o", markersize=3, color=_COLOURS[name], label=name)
        axes.set(title=f"{count:,} vectors", xlabel="median, µs", ylabel="recall@10", xscale="log")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0][0].legend(frameon=False, fontsize=8)
    return _saved(figure, "knowledge-recall.png")


def size(measured: Mapping[str, Any], sizes: list[int]) -> Path:
    """Median latency of a whole search, texts included, against the number of vectors."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
    series = {"quizglass": [measured[f"ours {count}"]["search"]["store"]["p50_us"] for count in sizes]}
    series |= {name: [measured[f"peers {count}"][name]["p50_us"] for count in sizes] for name in ("chroma", "lancedb")}
    for name, heights in series.items():
        axes.plot(sizes, [height / 1e3 for height in heights], marker="o", color=_COLOURS[name], label=name)
    axes.set(xlabel="vectors", ylabel="median, ms", xscale="log", yscale="log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return _saved(figure, "knowledge-size.png")


def _saved(figure: Any, name: str) -> Path:
    from matplotlib import pyplot as plt

    path = RESULTS / name
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
