"""Plots of benchmark results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

from bench.accuracy.planner.cases import Case, mean
from bench.results import RESULTS

mpl.use("Agg")
GROUPS = ("none", "image", "text", "both")
COLOURS = ("#2b6cb0", "#a0aec0", "#68d391", "#f6ad55", "#b794f4", "#fc8181", "#38b2ac")
"""One for each policy that a plot compares."""
GREY = "#cbd5e0"
_MARKERS = "osD^v"
WHOLE = "qa-dragon"
"""Of which the others of its name are ablations."""


def accuracy(cases: Sequence[Case], policies: Sequence[str]) -> Path:
    """Accuracy of each policy by what the question needs, as grouped bars."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    width = 0.8 / len(policies)
    for i, (policy, colour) in enumerate(zip(policies, COLOURS, strict=True)):
        sets = [*([c for c in cases if c.question.group == group] for group in GROUPS), cases]
        heights = [100 * mean(chosen, lambda c, p=policy: c.right(p)) for chosen in sets]  # type: ignore[misc]
        axes.bar([x + i * width for x in range(len(sets))], heights, width, label=policy, color=colour)
    axes.set_xticks([x + 0.4 - width / 2 for x in range(5)], [f"needs {g}" for g in GROUPS] + ["all"])
    axes.set(ylabel="exact match, %", ylim=(0, 100))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(ncols=3, frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    path = RESULTS / "accuracy.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def accuracy_by_cost(costs: Mapping[str, Mapping[str, float]]) -> Path:
    """Right answers of each policy over how long a turn takes and over how long its searches would on the open web.

    Args:
        costs: what `bench.accuracy.sections.costs` tells of each policy; ablations are drawn alike.
    """
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    axis = {"p50, ms": "median of a turn, ms", "searching by the tariff, s": "searches at 6.4 and 1.4 s, s a turn"}
    named = [policy for policy in costs if not policy.startswith(f"{WHOLE}-")]
    for axes, (column, label) in zip(panels, axis.items(), strict=True):
        parts = [cost for policy, cost in costs.items() if policy not in named]
        axes.scatter(
            [c[column] for c in parts], [c["right, %"] for c in parts], s=14, color=GREY, label="its ablations"
        )
        for place, policy in enumerate(named):
            look = {"marker": _MARKERS[place % len(_MARKERS)], "color": COLOURS[place % len(COLOURS)]}
            axes.scatter([costs[policy][column]], [costs[policy]["right, %"]], s=40, label=policy, **look)
        axes.set_xlabel(label)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend([*handles[1:], handles[0]], [*labels[1:], labels[0]], loc="outside right", frameon=False, fontsize=8)
    panels[0].set_ylabel("exact match, %")
    path = RESULTS / "accuracy-by-cost.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def latency(medians: Mapping[str, Mapping[str, float]]) -> Path:
    """Median milliseconds of each stage for each plan, stacked."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
    stages = list(dict.fromkeys(stage for each in medians.values() for stage in each if stage != "embed"))
    left = [0.0] * len(medians)
    for i, stage in enumerate(stages):
        widths = [each.get(stage, 0.0) for each in medians.values()]
        axes.barh([f"needs {plan}" for plan in medians], widths, 0.6, left, label=stage, color=f"C{i}")
        left = [at + width for at, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("ms, medians of each stage (embedding the picture runs beside reading and planning)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(ncols=4, frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    path = RESULTS / "latency.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
