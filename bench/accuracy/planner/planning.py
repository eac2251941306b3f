"""The planning agent beside its baselines and the simplest rules: every policy on every question of balanced worlds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from bench.accuracy import plots
from bench.accuracy.ground import Ground
from bench.accuracy.planner import naming
from bench.accuracy.planner.asking import POLICIES, Asked, Targets, ask_all
from bench.accuracy.planner.cases import Case, mean
from bench.accuracy.planner.rows import claims, table
from bench.sections import Part
from bench.worlds import Trial
from quizglass_lab.pocketworld.questions import Question

Shares = dict[str, dict[str, float]]


def run(ground: Ground) -> Part:
    """Worlds of all seeds together."""
    cases: list[Case] = []
    nothing: list[Case] = []
    for seed in ground.seeds:
        trial = ground.trial(seed)
        answers = _measured(ground, trial)
        asked = [Case(q, a, q.target in trial.unseen) for q, a in zip(_all(trial), answers, strict=True)]
        cases += asked[: len(trial.questions)]
        nothing += asked[len(trial.questions) :]
    shares: dict[str, Shares] = {
        "families": by(cases, lambda case: case.question.family),
        "groups": by(cases, lambda case: str(case.question.group)),
        "hops": by(cases, lambda case: str(case.hops)),
        "trained": by(cases, lambda case: "never trained on" if case.unseen else "trained on"),
    }
    if ground.publish:
        needs = {f"needs {group}": some for group, some in shares["groups"].items()}
        plots.accuracy(needs | {"all": _by_policy(cases)}, POLICIES)
    unseen = [case for case in cases if case.unseen]
    data = {"questions": len(cases), **shares, "unseen": [asdict(row) for row in claims(unseen)] if unseen else []}
    return Part([*table(cases, nothing), *naming.rows(cases)], data)


def _all(trial: Trial) -> list[Question]:
    return [*trial.questions, *trial.unknowable]


def _measured(ground: Ground, trial: Trial) -> list[Asked]:
    log, questions = ground.log("planning", trial), _all(trial)
    tick = ground.ticker(f"world {trial.seed}", len(questions))
    with _servers(ground, trial) as targets:
        return asyncio.run(ask_all(targets, trial, POLICIES, log, ground.clients, tick))


@contextmanager
def _servers(ground: Ground, trial: Trial) -> Iterator[Targets]:
    """A server of the bundle, and one of the same bundle without `kind_bonus` and `links`."""
    with ground.server(trial.folder) as server, ground.server(trial.folder, "plain", kind_bonus=0.0, links=0) as other:
        yield Targets(server, other)


def by(cases: list[Case], key: Callable[[Case], str]) -> Shares:
    """Accuracy of each policy in percent, by something about a case; the planning groups in their order."""
    order = ("none", "image", "text", "both")
    names = {key(case): None for case in cases}
    ranked = sorted(names, key=lambda name: (order.index(name), "") if name in order else (0, name))
    return {name: _by_policy([case for case in cases if key(case) == name]) for name in ranked}


def _by_policy(cases: list[Case]) -> dict[str, float]:
    shares = {policy: 100 * mean(cases, lambda c, p=policy: c.right(p)) for policy in POLICIES}  # type: ignore[misc]
    return {"questions": len(cases)} | {policy: round(share, 1) for policy, share in shares.items()}
