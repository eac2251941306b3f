"""Two kinds of questions by themselves: those that name their thing, and comparisons whose passages were found."""

from __future__ import annotations

from bench.accuracy.planner.cases import Case, mean
from bench.results import Row, at_least

BOTH, TEXT = "both", "text"


def rows(cases: list[Case]) -> list[Row]:
    """Always-both beside always-text where the picture is not needed, and comparing two numbers."""
    return [*_named(cases), *_compared(cases)]


def names_its_thing(case: Case) -> bool:
    """Whether a question, or what was said before, has the thing's name in it."""
    question = case.question
    said = " ".join((question.text, *(part for turn in question.history for part in turn)))
    return bool(question.image_answer) and question.image_answer in said


def _named(cases: list[Case]) -> list[Row]:
    named = [case for case in cases if names_its_thing(case)]
    if not named:
        return []
    both, text = (100 * mean(named, lambda case, p=policy: case.right(p)) for policy in (BOTH, TEXT))  # type: ignore[misc]
    label = f"always-both minus always-text on questions that name their thing ({len(named)} of them)"
    bar = at_least(label, both - text, "points", -3)
    return [Row(label, both - text, "points", "always-text", text, bar=bar.bar, ok=bar.ok)]


def _compared(cases: list[Case]) -> list[Row]:
    """Questions that compare two entries' numbers, where always-both's prompt had passages of both."""
    compared = [case for case in cases if "compar" in case.question.family and len(case.question.gold_entries) > 1]
    shown = [case for case in compared if _shown(case)]
    name = f"comparisons with the passages found, always-both ({len(shown)} of {len(compared)} comparisons)"
    if not shown:
        return [Row(name, None, "", "no comparison had the passages of both")]
    return [at_least(name, 100 * mean(shown, lambda case: case.right(BOTH)), "%", 85)]


def _shown(case: Case) -> bool:
    shown = {entry for _, entry, *_, used in case.asked.turns[BOTH]["evidence"] if used}
    return set(case.question.gold_entries) <= shown
