"""What policies answer right, and what that costs, drawn beside the published results.

`python -m bench.accuracy.plots` draws both anew from the published figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.drawing import panels, saved
from bench.results import RESULTS
from quizglass_lab.scoring.intervals import wilson_interval

COLOURS = ("#2b6cb0", "#a0aec0", "#68d391", "#f6ad55", "#b794f4", "#fc8181", "#38b2ac", "#4a5568")
"""One for each policy that a plot compares."""
GREY = "#cbd5e0"
_MARKERS = "osD^v"
_INTERVAL: dict[str, Any] = {"elinewidth": 0.7, "ecolor": "#2d3748"}
PARTS = "qa-dragon-"
"""How the names of ablations begin."""


def accuracy(shares: Mapping[str, Mapping[str, float]], policies: Sequence[str]) -> Path:
    """Accuracy of each policy by what the question needs, as grouped bars with 95 % intervals.

    Args:
        shares: percent of each policy, by the name of a set of questions, with how many "questions" it has.
        policies: those that are drawn.
    """
    figure, [[axes]] = panels(1, 8, 3.6)
    width = 0.8 / len(policies)
    for i, (policy, colour) in enumerate(zip(policies, COLOURS, strict=True)):
        heights = [some[policy] for some in shares.values()]
        apart = [_apart(some[policy], round(some["questions"])) for some in shares.values()]
        reach = list(zip(*apart, strict=True))
        at = [x + i * width for x in range(len(heights))]
        axes.bar(at, heights, width, label=policy, color=colour, yerr=reach, error_kw=_INTERVAL)
    axes.set_xticks([x + 0.4 - width / 2 for x in range(len(shares))], list(shares))
    axes.set(ylabel="exact match, %", ylim=(0, 100))
    axes.legend(ncols=3, frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    return saved(figure, RESULTS / "accuracy.png")


def accuracy_by_cost(costs: Mapping[str, Mapping[str, float]], questions: int) -> Path:
    """Right answers of each policy over how long a turn takes and over how long its searches would on the open web.

    Args:
        costs: what `bench.accuracy.sections.costs` tells of each policy; ablations are drawn alike.
        questions: that right answers are shares of, for the 95 % intervals of all but ablations.
    """
    figure, [[left, right]] = panels(2, 11, 4.6)
    right.sharey(left)
    axis = {"p50, ms": "median of a turn, ms", "searching by the tariff, s": "searches at 6.4 and 1.4 s, s a turn"}
    named = [policy for policy in costs if not policy.startswith(PARTS)]
    for axes, (column, label) in zip((left, right), axis.items(), strict=True):
        parts = [cost for policy, cost in costs.items() if policy not in named]
        axes.scatter(
            [c[column] for c in parts], [c["right, %"] for c in parts], s=14, color=GREY, label="its ablations"
        )
        for place, policy in enumerate(named):
            marker, colour = _MARKERS[place % len(_MARKERS)], COLOURS[place % len(COLOURS)]
            at = costs[policy][column], costs[policy]["right, %"]
            apart = [[edge] for edge in _apart(at[1], questions)]
            axes.errorbar(*at, yerr=apart, fmt="none", **_INTERVAL)
            axes.scatter(*at, s=40, label=policy, marker=marker, color=colour)
        axes.set_xlabel(label)
    handles, labels = left.get_legend_handles_labels()
    figure.legend([*handles[1:], handles[0]], [*labels[1:], labels[0]], loc="outside right", frameon=False, fontsize=8)
    left.set_ylabel(f"exact match of {questions} questions, %")
    return saved(figure, RESULTS / "accuracy-by-cost.png")


def redrawn() -> list[Path]:
    """Both plots from the published figures, as the sections draw them."""
    data = json.loads((RESULTS / "accuracy.json").read_text(encoding="utf-8"))["data"]
    groups: dict[str, dict[str, float]] = data["planning"]["groups"]
    policies = [name for name in next(iter(groups.values())) if name != "questions"]
    count = sum(some["questions"] for some in groups.values())
    whole = {name: sum(some[name] * some["questions"] for some in groups.values()) / count for name in policies}
    shares = {f"needs {group}": some for group, some in groups.items()} | {"all": {"questions": count, **whole}}
    costs = data["costs"]
    return [accuracy(shares, policies), accuracy_by_cost(costs["policies"], costs["answerable"])]


def _apart(share: float, questions: int) -> tuple[float, float]:
    """How far Wilson's interval of a share in percent reaches below it and above it."""
    low, high = wilson_interval(round(share * questions / 100), questions)
    return max(0.0, share - 100 * low), max(0.0, 100 * high - share)


if __name__ == "__main__":
    for drawn in redrawn():
        print(drawn)
