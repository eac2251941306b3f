"""Sorts of questions, by what has to be known or found to answer them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.world import Thing
from quizglass_lab.starter.data.knowing import Known, knows, missing_names
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.tasks.conflicts import RECORDED
from quizglass_lab.starter.data.tasks.lookups import needed


def points(question: Question, library: Library) -> bool:
    """Whether a question points at something in its picture that is not taught by heart, and can be found."""
    thing = _shown(question, library)
    if thing is None or thing.recognised or question.conflict is not None:
        return False
    return library.findable(thing) and bool(missing_names(question) or question.image_answer == question.answer)


def recognises(question: Question, library: Library) -> bool:
    """Whether a question is about something in its picture that is taught by heart, and needs what was taught of it."""
    thing = _shown(question, library)
    if thing is None or not thing.recognised or question.conflict is not None:
        return False
    return bool(missing_names(question)) or knows(question, library)


def tells(question: Question, library: Library) -> bool:
    """Whether a question that has to be searched for says itself, or has been told, what it is about."""
    thing = library.things.get(question.target or "")
    searched = any(hop.action == "text" for hop in question.hops)
    return searched and not missing_names(question) and not (thing and thing.recognised) and question.conflict is None


def walks(question: Question, library: Library) -> bool:
    """Whether a question needs several searches by text of who knows what is taught by heart, or a calculation."""
    if question.conflict is not None or question.claims:
        return False
    hops = [hop for hops in needed(question, Known.taught(question, library)) for hop in hops]
    return sum(hop.action == "text" for hop in hops) > 1 or bool(hops and question.working)


def _shown(question: Question, library: Library) -> Thing | None:
    shown = {placed.thing.id for placed in question.scene.things}
    return library.things.get(question.target or "") if question.target in shown else None


def _disputed(question: Question, library: Library) -> bool:
    return question.conflict is not None and question.conflict.kind in RECORDED


def _known(question: Question, library: Library) -> bool:
    return question.conflict is None and knows(question, library)


def _unknown(question: Question, library: Library) -> bool:
    return question.conflict is None and bool(question.hops) and not knows(question, library)


SORTS: Mapping[str, Callable[[Question, Library], bool]] = {
    "any": lambda question, library: True,
    "pointing": points,
    "recognised": recognises,
    "telling": tells,
    "walking": walks,
    "known": _known,
    "unknown": _unknown,
    "disputed": _disputed,
}
"""Questions that kinds of prompts are made about."""
