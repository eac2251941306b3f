"""The plot of the text streams: time to first token and throughput against the number of clients."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

from bench.results import RESULTS

mpl.use("Agg")
_COLOURS = {"quizglass": "#2b6cb0", "example server": "#f6ad55", "llama_cpp.server": "#a0aec0"}
Curves = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By contender and number of clients: `first` in seconds, `rate` in tokens a second."""


def engine(data: Mapping[str, Curves], folder: Path = RESULTS) -> Path | None:
    """Two panels for each model; None when no text streams have been measured."""
    if not data:
        return None
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(data), 2, figsize=(8, 2.8 * len(data)), layout="constrained", squeeze=False)
    for (model, curves), panels in zip(data.items(), axes, strict=True):
        for panel, key, label in zip(panels, ("first", "rate"), ("first token, s", "tokens a second"), strict=True):
            for name, points in curves.items():
                clients = sorted(map(int, points))
                values = [points[str(n)][key] for n in clients]
                panel.plot(clients, values, "o-", label=name, color=_COLOURS.get(name))
            panel.set_xscale("log", base=2)
            panel.set_xticks(clients, map(str, clients))
            panel.set(xlabel="clients at once", ylabel=label, title=model, ylim=(0, None))
            panel.spines[["top", "right"]].set_visible(False)
    axes[0][0].legend(frameon=False, fontsize=8)
    path = folder / "engine.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
