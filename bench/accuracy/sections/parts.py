"""What each policy answers, refuses and is worth by the number of lookups, by what was trained on, and by family.

Every figure has its 95 % interval: a part is small, and an interval says how small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.accuracy.several import Turns, accuracy
from quizglass_lab.scoring.intervals import confidence_interval, wilson_interval

Figure = tuple[float, float, float]
"""A figure and its 95 % interval."""
BALANCED = "balanced"
_MANY = 3
"""Lookups from which questions count together."""


def parts(balanced: Sequence[Turns], hopping: Sequence[Turns], policies: Sequence[str]) -> dict[str, Any]:
    """Figures by measure, policy and part; how many questions each part has; right answers by family, in percent.

    Args:
        balanced: balanced questions, among them such as have no answer; a part of its own.
        hopping: more questions, whose shares by the number of lookups are CogBench's; they stand in all other parts.
        policies: those that were asked.
    """
    every = [turns for turns in (*balanced, *hopping) if turns.question.group is not None]
    split = {BALANCED: list(balanced)} | _by_lookups(every) | _by_training(every)
    measures: Mapping[str, Callable[[Sequence[Turns], str], Figure]] = {
        "right": right,
        "refused": refused,
        "truthfulness": truthfulness,
    }
    return {
        "questions": {name: len(some) for name, some in split.items()},
        **{
            measure: {policy: {name: told(some, policy) for name, some in split.items()} for policy in policies}
            for measure, told in measures.items()
        },
        "families": _families(every, policies),
    }


def _by_lookups(every: Sequence[Turns]) -> dict[str, list[Turns]]:
    """By how many lookups lead to the answer, those of three and more together; none is empty."""
    groups: dict[str, list[Turns]] = {}
    for turns in sorted(every, key=lambda each: len(each.question.hops)):
        lookups = len(turns.question.hops)
        name = f"{_MANY}+ lookups" if lookups >= _MANY else f"{lookups} lookup{'s' * (lookups != 1)}"
        groups.setdefault(name, []).append(turns)
    return groups


def _by_training(every: Sequence[Turns]) -> dict[str, list[Turns]]:
    groups = {
        "trained on": [turns for turns in every if not turns.unseen],
        "never trained on": [turns for turns in every if turns.unseen],
    }
    return {name: some for name, some in groups.items() if some}


def _families(every: Sequence[Turns], policies: Sequence[str]) -> dict[str, dict[str, float]]:
    table = {}
    for family in sorted({turns.question.family for turns in every}):
        some = [turns for turns in every if turns.question.family == family]
        table[family] = {"questions": len(some)} | {policy: round(accuracy(some, policy), 1) for policy in policies}
    return table


def right(some: Sequence[Turns], policy: str) -> Figure:
    """Of the questions that have an answer, in percent, with Wilson's interval."""
    return _share([turns.right(policy) for turns in _answerable(some)])


def refused(some: Sequence[Turns], policy: str) -> Figure:
    """Of the questions that have an answer, in percent, with Wilson's interval."""
    return _share([turns.abstained(policy) for turns in _answerable(some)])


def truthfulness(some: Sequence[Turns], policy: str) -> Figure:
    """Mean of 1 for a right answer, 0 for a refusal and -1 for a wrong one, with its bootstrap interval."""
    scores = [float(turns.truthfulness(policy)) for turns in some]
    low, high = confidence_interval(scores)
    return round(sum(scores) / len(scores), 3), round(low, 3), round(high, 3)


def _answerable(some: Sequence[Turns]) -> list[Turns]:
    return [turns for turns in some if turns.question.group is not None]


def _share(hits: Sequence[bool]) -> Figure:
    low, high = wilson_interval(sum(hits), len(hits))
    return round(100 * sum(hits) / len(hits), 1), round(100 * low, 1), round(100 * high, 1)
