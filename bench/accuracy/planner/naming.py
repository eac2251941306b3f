"""Questions that name their thing by themselves: the picture is not needed for them."""

from __future__ import annotations

from bench.accuracy.planner.cases import Case, mean
from bench.results import Row, at_least

BOTH, TEXT = "both", "text"


def rows(cases: list[Case]) -> list[Row]:
    """Always-both beside always-text."""
    named = [case for case in cases if names_its_thing(case)]
    if not named:
        return []
    both, text = (100 * mean(named, lambda case, p=policy: case.right(p)) for policy in (BOTH, TEXT))  # type: ignore[misc]
    label = f"always-both minus always-text on questions that name their thing ({len(named)} of them)"
    bar = at_least(label, both - text, "points", -3)
    return [Row(label, both - text, "points", "always-text", text, bar=bar.bar, ok=bar.ok)]


def names_its_thing(case: Case) -> bool:
    """Whether a question, or what was said before, has the thing's name in it."""
    question = case.question
    said = " ".join((question.text, *(part for turn in question.history for part in turn)))
    return bool(question.image_answer) and question.image_answer in said
