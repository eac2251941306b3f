"""QA-Dragon as a whole, without each of its parts, and by the branch that its search router takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from statistics import fmean

from bench.accuracy.ground import Ground, lacking, said, skipped
from bench.accuracy.several import Turns, accuracy, ask_policies, barred_unseen, interval
from bench.results import Row, at_least
from bench.sections import Part
from quizglass_bundle.files import Bundle
from quizglass_lab.scoring.intervals import confidence_interval
from quizglass_lab.search_router import BRANCHES
from quizglass_server.policies import POLICIES

SHARE = 0.3
WHOLE = "qa-dragon+"
PARTS = "qa-dragon-"
"""How the names of its ablations begin."""
ABLATIONS = tuple(
    name for name in POLICIES if name.startswith(PARTS) and (name.endswith("+") or name == f"{PARTS}no-second-look")
)
OTHERS = ("planning-agent+", "adaptive", "none", "image", "text", "both")
_OF_A_ROLE = {f"{PARTS}no-domain-router+": "domain_router"}
"""Ablations that leave out one role alone: without it in the bundle there is nothing that they change."""


def run(ground: Ground) -> Part:
    """The whole beside every ablation and the policies that have no verifier."""
    asked: list[Turns] = []
    served: list[str] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        with ground.server(trial.folder) as target:
            missing = lacking(target, (WHOLE, *ABLATIONS, *OTHERS))
            if WHOLE in missing:
                return skipped("qa-dragon+ and its ablations", said({WHOLE: missing[WHOLE]}))
            served = [name for name in (WHOLE, *ABLATIONS, *OTHERS) if name not in missing]
            questions = [*trial.questions, *trial.unknowable]
            asked += ask_policies(ground, "dragon", trial, questions, served, target)
    roles = Bundle.load(ground.bundle, hashes=False).manifest.roles
    idle = {name for name, role in _OF_A_ROLE.items() if getattr(roles, role) is None}
    unseen = barred_unseen(partial(rows, served=served, idle=idle), asked)
    return Part(rows(asked, served, idle), {"questions": len(asked), "unseen": unseen})


def rows(asked: Sequence[Turns], served: Sequence[str], idle: Collection[str] = ()) -> list[Row]:
    """Accuracy with its interval; no ablation above the whole beyond it; truthfulness; branches.

    Args:
        asked: every policy on every question.
        served: what the bundle serves.
        idle: ablations that leave out what the bundle does not have.
    """
    whole = accuracy(asked, WHOLE)
    table = [Row(f"accuracy, {name} ({interval(asked, name)})", accuracy(asked, name), "%") for name in served]
    table += [_ablated(asked, name, whole) for name in served if name in ABLATIONS and name not in idle]
    without = "not measured: the bundle has no such part to leave out"
    table += [Row(f"{name} minus the whole", None, "points", without) for name in served if name in idle]
    table += [_truer(asked, name) for name in served if name in ABLATIONS and name not in idle]
    ours = _truthfulness(asked, WHOLE)
    best = max((_truthfulness(asked, name) for name in OTHERS if name in served), default=float("nan"))
    name = "truthfulness, qa-dragon+ minus the best policy without a verifier"
    bar = at_least(name, 100 * (ours - best), "points", 5)
    table.append(Row(name, 100 * (ours - best), "points", "the best of them", 100 * best, bar=bar.bar, ok=bar.ok))
    return [*table, *_branches(asked)]


def _ablated(asked: Sequence[Turns], name: str, whole: float) -> Row:
    """Difference to the whole on the same questions; above it only where the interval of the difference is."""
    differences = [float(turns.right(name)) - float(turns.right(WHOLE)) for turns in asked]
    low, high = (100 * edge for edge in confidence_interval(differences))
    title = f"{name} minus the whole (95 % interval {low:.1f} to {high:.1f})"
    return Row(title, accuracy(asked, name) - whole, "points", bar="interval reaches 0 or below", ok=low <= 0)


def _truer(asked: Sequence[Turns], name: str) -> Row:
    """Difference to the whole in truthfulness, by which a refusal is better than a wrong answer."""
    differences = [float(turns.truthfulness(name) - turns.truthfulness(WHOLE)) for turns in asked]
    low, high = (100 * edge for edge in confidence_interval(differences))
    title = f"truthfulness, {name} minus the whole (95 % interval {low:.1f} to {high:.1f})"
    return Row(title, 100 * fmean(differences), "points")


def _truthfulness(asked: Sequence[Turns], policy: str) -> float:
    return fmean(turns.truthfulness(policy) for turns in asked)


def _branches(asked: Sequence[Turns]) -> list[Row]:
    by_branch = {name: [turns for turns in asked if branch(turns) == name] for name in BRANCHES}
    shares = {name: accuracy(some, WHOLE) for name, some in by_branch.items() if some}
    best = max(shares, key=lambda name: shares[name], default="")
    return [
        Row(
            f"accuracy, branch {name} ({interval(by_branch[name], WHOLE)})",
            value,
            "%",
            bar="the highest" if name == "direct" else "",
            ok=best == name if name == "direct" else None,
        )
        for name, value in shares.items()
    ]


def branch(turns: Turns) -> str:
    """Which way the search router sent a draft."""
    return next((each["label"] for each in turns.of[WHOLE]["decided"] if each["by"] == "search_router"), "")
