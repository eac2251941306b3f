"""Published systems to the letter, beside the same with what this server adds, and beside the server's default."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from bench.accuracy import plots
from bench.accuracy.ground import Ground, lacking
from bench.accuracy.sections.costs import ask_apart, costs_of
from bench.accuracy.several import Turns, accuracy, interval
from bench.results import Row
from bench.sections import Part
from quizglass_lab.scoring.intervals import confidence_interval
from quizglass_server.policies import POLICIES

SHARE = 0.2
DEFAULT = "adaptive"
_TWINS = {"no-search": "none", "always-image": "image", "always-text": "text", "always-both": "both"}
"""Published forms whose twin has a name of its own."""
_BASELINES = ("qa-dragon-chain-of-thought", "qa-dragon-direct-rag")
PUBLISHED = tuple(
    name
    for name, policy in POLICIES.items()
    if getattr(policy, "published", False) and (name in _BASELINES or not name.startswith(plots.PARTS))
)
"""Every published system and baseline; section `dragon` has the ablations."""
Worlds = Mapping[int, Sequence[Turns]]
"""The turns asked on each world, by its seed."""


def twin(published: str) -> str | None:
    """The policy with what is added; None for a system that has none."""
    name = _TWINS.get(published, f"{published}+")
    return name if name in POLICIES else None


def run(ground: Ground) -> Part:
    """Both forms of every system on the same questions, a tenth of them without an answer, and the server's default.

    Each turn has a picture of its own, so that none finds what another left in caches and times can be compared.
    """
    wanted = [DEFAULT, *dict.fromkeys(name for each in PUBLISHED for name in (each, twin(each)) if name)]
    worlds: dict[int, list[Turns]] = {}
    served: list[str] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        with ground.server(trial.folder) as target:
            missing = lacking(target, wanted)
            served = [name for name in wanted if name not in missing]
            worlds[seed] = asyncio.run(ask_apart(ground, "published", trial, served, target, ground.clients))
    return part(worlds, served)


def part(worlds: Worlds, served: Sequence[str]) -> Part:
    """Rows and data of the questions asked; a system that is not served has a row that says so.

    Raises:
        ValueError: nothing was asked that has an answer.
    """
    asked = [*chain.from_iterable(worlds.values())]
    answerable = _answerable(asked)
    if not answerable:
        raise ValueError("no question with an answer was asked")
    rows, pairs = list[Row](), list[dict[str, Any]]()
    for published in PUBLISHED:
        beside = [name for name in (twin(published), DEFAULT) if name]
        absent = [name for name in (published, *beside) if name not in served]
        if published in served:
            pairs.append(_compared(asked, answerable, published, served))
        for name in beside:
            missing = name in absent or published in absent
            rows.append(_absent(published, name) if missing else _row(answerable, published, name))
    data = {
        "questions": len(answerable),
        "worlds": {str(seed): len(_answerable(turns)) for seed, turns in worlds.items()},
        "policies": {name: costs_of(asked, name) | _by_world(worlds, name) for name in served},
        "pairs": pairs,
    }
    return Part(rows, data)


def _answerable(asked: Sequence[Turns]) -> list[Turns]:
    return [turns for turns in asked if turns.question.group is not None]


def _by_world(worlds: Worlds, policy: str) -> dict[str, list[float]]:
    return {"right in each world, %": [accuracy(_answerable(turns), policy) for turns in worlds.values()]}


def _absent(published: str, ours: str) -> Row:
    return Row(f"right, {ours} minus {published}", None, "points", "not measured: one of them is not served")


def _row(answerable: Sequence[Turns], published: str, ours: str) -> Row:
    low, high = _interval(answerable, ours, published, lambda turns, name: float(turns.right(name)))
    name = f"right, {ours} minus {published} (95 % interval {100 * low:.1f} to {100 * high:.1f})"
    theirs = accuracy(answerable, published)
    named = f"{published} ({interval(answerable, published)})"
    return Row(name, accuracy(answerable, ours) - theirs, "points", named, theirs)


def _compared(
    asked: Sequence[Turns], answerable: Sequence[Turns], published: str, served: Sequence[str]
) -> dict[str, Any]:
    """A system with its twin and the default, as far as they are served: intervals of the differences."""
    said: dict[str, Any] = {"published": published}
    ours = twin(published)
    if ours in served and ours is not None:
        truth = _interval(asked, ours, published, lambda turns, name: float(turns.truthfulness(name)))
        said |= {"ours": ours, "right": _points(answerable, ours, published), "truthfulness": truth}
    if DEFAULT in served:
        said["default"] = _points(answerable, DEFAULT, published)
    return said


def _points(answerable: Sequence[Turns], ours: str, published: str) -> tuple[float, float]:
    return _interval(answerable, ours, published, lambda turns, name: 100.0 * turns.right(name))


def _interval(
    asked: Sequence[Turns], ours: str, published: str, score: Callable[[Turns, str], float]
) -> tuple[float, float]:
    """The 95 % interval of how much better one form does than the other on the same questions."""
    low, high = confidence_interval([score(turns, ours) - score(turns, published) for turns in asked])
    return low, high
