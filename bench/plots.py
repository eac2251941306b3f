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
GREY = "#a0aec0"
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
        costs: what `bench.accuracy.sections.costs` tells of each policy; ablations are drawn without their names.
    """
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", sharey=True)
    axis = {"p50, ms": "median of a turn, ms", "searching by the tariff, s": "searches at 6.4 and 1.4 s, s a turn"}
    for axes, (column, label) in zip(panels, axis.items(), strict=True):
        for policy, cost in costs.items():
            part = policy.startswith(WHOLE + "-")
            axes.scatter([cost[column]], [cost["right, %"]], s=12 if part else 30, color=GREY if part else COLOURS[0])
            if not part:
                at = (cost[column], cost["right, %"])
                axes.annotate(policy, at, xytext=(4, 4), textcoords="offset points", fontsize=7)
        axes.set_xlabel(label)
        axes.margins(0.2)
        axes.spines[["top", "right"]].set_visible(False)
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
