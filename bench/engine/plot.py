"""The plot of the text streams: time to first token and throughput against the number of clients, with their rounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.drawing import panels, reach, saved
from bench.results import RESULTS

_COLOURS = {"quizglass": "#2b6cb0", "example server": "#f6ad55", "llama_cpp.server": "#a0aec0"}
Curves = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By contender and number of clients: medians, `first` in seconds, `rate` in tokens a second; and all rounds of each,
`first_rounds` and `rate_rounds`, which older results lack."""


def engine(data: Mapping[str, Curves], folder: Path = RESULTS) -> Path | None:
    """Two panels for each model; None when no text streams have been measured."""
    if not data:
        return None
    figure, grid = panels(2, 8, 2.8 * len(data), rows=len(data))
    for (model, curves), pair in zip(data.items(), grid, strict=True):
        for panel, key, label in zip(pair, ("first", "rate"), ("first token, s", "tokens a second"), strict=True):
            for name, points in curves.items():
                clients = sorted(map(int, points))
                values = [points[str(n)][key] for n in clients]
                rounds = [points[str(n)].get(f"{key}_rounds", [points[str(n)][key]]) for n in clients]
                spread = reach(values, rounds)
                panel.errorbar(clients, values, spread, fmt="o-", elinewidth=0.8, label=name, color=_COLOURS.get(name))
            panel.set_xscale("log", base=2)
            panel.set_xticks(clients, map(str, clients))
            panel.set(xlabel="clients at once", ylabel=label, title=model, ylim=(0, None))
    grid[0][0].legend(frameon=False, fontsize=8)
    return saved(figure, folder / "engine.png")
