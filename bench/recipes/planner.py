"""The planner's recipe: rank, full tuning, a planner that answers too, and answering models that it was not made for.

The paper's claims are bars here: rank 8 is too small, full tuning is no better than rank 32, a planner that answers too
(its Agent) is worse than the base model beside it, and choosing is better than to look everything up, also for other
answering models. What is to be better has to be so beyond the 95 % interval of the difference.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any

from bench.drawing import panels, saved
from bench.recipes import work
from bench.recipes.work import Asked, Setup
from bench.results import RESULTS, Row, at_least, ratio
from bench.sections import Part
from quizglass_lab.scoring.intervals import confidence_interval, wilson_interval

TRAININGS: dict[str, tuple[str, ...]] = {
    "rank-32": (),
    "rank-8": ("--rank", "8"),
    "full": ("--full",),
    "full-fast": ("--full", "--learning-rate", "8e-5"),
    "rank-32-again": ("--seed", "1"),
    "rank-8-again": ("--seed", "1", "--rank", "8"),
}
"""The paper's three; full tuning at four times its learning rate, which is low for so small a model; and both adapters
with another seed."""
PLANNER = "rank-32"
"""The planner wherever only one is measured."""
OTHERS = {
    "82b7a0ad": "knew scenes of format 1",
    "7daffac1": "knew free scenes from questions alone",
    "52fc3e15": "taught to weigh memory and evidence",
    "75e59172": "taught to see free scenes",
    "1d61a899": "taught to compare and calculate",
}
"""Commits that had another base, of the same architecture and lineage: other answering models."""
_LINES = {"fast": "--", "again": ":"}
FIXED = ("none", "image", "text", "both")
AGENT = "planning-agent+"
LETTER = "plan to the letter"
"""The paper's agent. Ours looks again before it says that it does not know."""


def planners(setup: Setup) -> Part:
    """Held-out plans that each training gets right, and the curve of every training."""
    reports = {name: _report(work.trained(setup, name, flags)) for name, flags in TRAININGS.items()}
    letters = [json.loads(line)["target"] for line in (work.notes(setup) / "held-out.jsonl").open(encoding="utf-8")]
    count = len(letters)
    most = 100 * max(Counter(letters).values()) / count
    rows = [Row(f"right held-out plans of {count}: the commonest always", most, "%")]
    right = {name: 100 * report["held_out"]["right"] for name, report in reports.items()}
    for name, share in right.items():
        low, high = wilson_interval(round(share * count / 100), count)
        rows.append(Row(f"right held-out plans: {name} ({100 * low:.1f} to {100 * high:.1f})", share, "%"))
    large, small = (fmean((right[name], right[f"{name}-again"])) for name in (PLANNER, "rank-8"))
    name = f"right held-out plans: {PLANNER}, mean of two seeds"
    rows.append(_judged(name, large, "rank-8, mean of two seeds", small, _apart(large, small, count), better=True))
    rows += [
        _judged(name, large, full, right[full], _apart(large, right[full], count), better=False)
        for full in ("full", "full-fast")
    ]
    return Part(rows, {"trainings": {name: _told(report) for name, report in reports.items()}})


def answers(setup: Setup) -> Part:
    """What the base answers when each planner plans for it, and when the same is looked up for every question."""
    with work.searching(setup, work.fresh(setup)) as server:
        planned = {name: _planned(setup, server, name, setup.base) for name in (PLANNER, "rank-8", "full")}
        fixed = work.answered(setup, server, work.fresh(setup), "base", setup.base, FIXED)
    rows = [_row(f"{AGENT}, {name}", asked) for name, asked in planned.items()]
    rows += [_row(policy, asked) for policy, asked in fixed.items()]
    strict = {name: to_the_letter(asked, fixed) for name, asked in planned.items()}
    rows += [_row(f"{LETTER}, {name}", asked) for name, asked in strict.items()]
    for kind, of in ((AGENT, planned), (LETTER, strict)):
        best = of[PLANNER]
        rows += [
            _above(f"{kind}, {PLANNER}", best, "both", fixed["both"]),
            _above(f"{kind}, {PLANNER}", best, "rank-8", of["rank-8"]),
            _above(f"{kind}, {PLANNER}", best, "full", of["full"], better=False),
        ]
    every = {AGENT: planned, LETTER: strict, "fixed": fixed}
    return Part(rows, {kind: {name: _data(asked) for name, asked in of.items()} for kind, of in every.items()})


def to_the_letter(agent: Asked, fixed: Mapping[str, Asked]) -> Asked:
    """What an agent would have answered that takes its plan for the whole turn: as the policy of that name did."""
    plans = agent.plans
    right = [fixed[plan].right[place] for place, plan in enumerate(plans)]
    image, text = (sum(plan in (one, "both") for plan in plans) / len(plans) for one in ("image", "text"))
    return Asked(right, plans, agent.needs, image, text)


def agents(setup: Setup) -> Part:
    """The same planners when they answer themselves."""
    rows, data = [], {}
    with work.searching(setup, work.fresh(setup)) as server:
        for name in (PLANNER, "full"):
            planner = work.model_of(setup, _trained(setup, name))
            beside = _planned(setup, server, name, setup.base)
            alone = work.answered(setup, server, work.fresh(setup), f"agent-{name}", planner, (AGENT,))[AGENT]
            rows += [_row(f"{name} answers too", alone), _above(f"base beside {name}", beside, "it answers too", alone)]
            data[name] = _data(alone)
    return Part(rows, data)


def others(setup: Setup) -> Part:
    """The same planner beside bases that it was not made for, against looking everything up for each."""
    rows, data, above = [], {}, 0
    planner = work.model_of(setup, _trained(setup, PLANNER))
    with work.searching(setup, work.fresh(setup)) as server:
        for commit, what in OTHERS.items():
            base = work.base_of(setup, commit)
            policies = (AGENT, "both")
            asked = work.answered(setup, server, work.fresh(setup), f"base-{commit}", base, policies, planner)
            name = f"{commit} ({what})"
            rows += [_row(f"{name}, {policy}", asked[policy]) for policy in policies]
            rows.append(_above(f"{name}, {AGENT}", asked[AGENT], "both", asked["both"]))
            data[commit] = {policy: _data(each) for policy, each in asked.items()}
            above += asked[AGENT].accuracy > asked["both"].accuracy
    rows.append(at_least(f"answering models of {len(OTHERS)} for which planning is above both", above, "models", 4))
    return Part(rows, data)


def plot(data: Mapping[str, Any]) -> Path:
    """The curves: right held-out plans over steps."""
    figure, [[axes]] = panels(1, 7, 3.4)
    for name, told in data.get("planners", {}).get("trainings", {}).items():
        steps, shares = zip(*told["curve"], strict=True)
        axes.plot(steps, shares, _LINES.get(name.rpartition("-")[2], "-"), label=name)
    axes.set(xlabel="steps", ylabel="right held-out plans, %")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    return saved(figure, RESULTS / "recipes.png")


def _trained(setup: Setup, name: str) -> Path:
    return work.trained(setup, name, TRAININGS[name])


def _planned(setup: Setup, server: str, name: str, answerer: Path) -> Asked:
    planner = work.model_of(setup, _trained(setup, name))
    return work.answered(setup, server, work.fresh(setup), f"planned-by-{name}", answerer, (AGENT,), planner)[AGENT]


def _report(planner: Path) -> dict[str, Any]:
    return json.loads((planner / "training.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _told(report: Mapping[str, Any]) -> dict[str, Any]:
    """What is published of a training; its curve as (step, percent of right held-out plans)."""
    curve = [(entry["step"], round(100 * entry["eval_right"], 1)) for entry in report["curve"] if "eval_right" in entry]
    keys = ("steps", "minutes", "examples", "held_out")
    return {**{key: report[key] for key in keys}, "curve": sorted(dict(curve).items())}


def _row(name: str, asked: Asked) -> Row:
    low, high = wilson_interval(sum(asked.right), len(asked.right))
    searches = f"{100 * asked.image_searches:.0f} and {100 * asked.text_searches:.0f} searches of 100 turns"
    return Row(f"right answers: {name} ({100 * low:.1f} to {100 * high:.1f}; {searches})", asked.accuracy, "%")


def _above(name: str, asked: Asked, peer: str, other: Asked, *, better: bool = True) -> Row:
    """A bar on right answers, compared question by question."""
    apart = [100 * (int(one) - int(two)) for one, two in zip(asked.right, other.right, strict=True)]
    interval = confidence_interval(apart)
    return _judged(f"right answers: {name}", asked.accuracy, peer, other.accuracy, interval, better=better)


def _judged(
    name: str, value: float, peer: str, peer_value: float, interval: tuple[float, float], *, better: bool
) -> Row:
    """A bar on the difference of two shares: better beyond its interval, or else not worse beyond it."""
    low, high = interval
    bar = "better beyond the interval" if better else "not worse beyond the interval"
    label = f"{name} (difference {low:+.1f} to {high:+.1f} points)"
    return Row(label, value, "%", peer, peer_value, ratio(value, peer_value), bar, low > 0 if better else high >= 0)


def _apart(one: float, two: float, count: int) -> tuple[float, float]:
    """The 95 % interval of the difference of two shares in percent, each of so many questions, as if of others."""
    margin = NormalDist().inv_cdf(0.975) * sqrt((one * (100 - one) + two * (100 - two)) / count)
    return one - two - margin, one - two + margin


def _data(asked: Asked) -> dict[str, Any]:
    by_need = {need: [good for good, of in zip(asked.right, asked.needs, strict=True) if of == need] for need in FIXED}
    return {
        "right": round(asked.accuracy, 2),
        "right_by_need": {need: round(100 * fmean(good), 1) for need, good in by_need.items() if good},
        "questions": len(asked.right),
        "plans": dict(Counter(asked.plans)),
        "image_searches": round(asked.image_searches, 3),
        "text_searches": round(asked.text_searches, 3),
    }
