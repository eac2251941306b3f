"""Published systems to the letter, beside the same with what this server adds: what it brings and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.accuracy.ground import Ground, lacking
from bench.accuracy.sections.costs import costs_of
from bench.accuracy.several import Turns, accuracy, ask_policies, interval
from bench.results import Row
from bench.sections import Part
from quizglass_lab.scoring.intervals import confidence_interval

SHARE = 0.2
PAIRS = (
    ("always-both", "both"),
    *(
        (name, f"{name}+")
        for name in (
            *("planning-agent", "prompt-based", "cogplanner-parallel", "cogplanner-sequential", "omnisearch"),
            *("core-mmrag", "qa-dragon"),
        )
    ),
)
"""Of each system its published form, and the one with what is added."""
DEFAULT = "adaptive"


def run(ground: Ground) -> Part:
    """Both forms of every system on the same questions, a tenth of them without an answer, and the server's default.

    What one policy leaves in caches is found by those after it, so times mean nothing here: tokens and searches do.
    """
    asked: list[Turns] = []
    served: list[str] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        with ground.server(trial.folder) as target:
            wanted = (DEFAULT, *(name for pair in PAIRS for name in pair))
            missing = lacking(target, wanted)
            served = [name for name in wanted if name not in missing]
            questions = [*trial.questions, *trial.unknowable]
            asked += ask_policies(ground, "published", trial, questions, served, target)
    return part(asked, served)


def part(asked: Sequence[Turns], served: Sequence[str]) -> Part:
    """Rows and data of the questions asked, for systems that are served in both forms.

    Raises:
        ValueError: nothing was asked that has an answer.
    """
    answerable = [turns for turns in asked if turns.question.group is not None]
    if not answerable:
        raise ValueError("no question with an answer was asked")
    pairs = [pair for pair in PAIRS if set(pair) <= set(served)]
    absent = [
        Row(f"right, {ours} minus {published}", None, "points", "not measured: one of them is not served")
        for published, ours in PAIRS
        if (published, ours) not in pairs
    ]
    data = {
        "questions": len(answerable),
        "policies": {name: costs_of(asked, name) for name in served},
        "pairs": [_compared(asked, answerable, *pair) for pair in pairs],
    }
    return Part([*(_row(answerable, *pair) for pair in pairs), *absent], data)


def _row(answerable: Sequence[Turns], published: str, ours: str) -> Row:
    low, high = _interval(answerable, ours, published, lambda turns, name: float(turns.right(name)))
    name = f"right, {ours} minus {published} (95 % interval {100 * low:.1f} to {100 * high:.1f})"
    theirs = accuracy(answerable, published)
    named = f"{published} ({interval(answerable, published)})"
    return Row(name, accuracy(answerable, ours) - theirs, "points", named, theirs)


def _compared(asked: Sequence[Turns], answerable: Sequence[Turns], published: str, ours: str) -> dict[str, Any]:
    """A pair, with the intervals of its differences over the same questions."""
    right = _interval(answerable, ours, published, lambda turns, name: 100.0 * turns.right(name))
    truth = _interval(asked, ours, published, lambda turns, name: float(turns.truthfulness(name)))
    return {"published": published, "ours": ours, "right": right, "truthfulness": truth}


def _interval(
    asked: Sequence[Turns], ours: str, published: str, score: Callable[[Turns, str], float]
) -> tuple[float, float]:
    """The 95 % interval of how much better one form does than the other on the same questions."""
    low, high = confidence_interval([score(turns, ours) - score(turns, published) for turns in asked])
    return low, high
