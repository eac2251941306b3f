"""What the base model knows of a question by itself: by construction, or as the annotation measured it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_lab.pocketworld.families.telling import claims_of
from quizglass_lab.pocketworld.question import ABSTAIN, Hop, Question
from quizglass_lab.pocketworld.world import Thing, taught
from quizglass_lab.starter.data.library import Library

_NAME = re.compile(r"(?<=[a-z,'’] )[A-Z][A-Za-z]+")
"""A capitalised word inside a sentence: in pocketworld's questions always part of a name."""


@dataclass(frozen=True)
class Known:
    """Which parts of a question the base answers without any lookup."""

    answer: bool
    """Whether it answers the question as it is put (q)."""
    name: bool
    """Whether it names the thing in the picture (q_i)."""
    rest: bool
    """Whether it answers the question once that names all it is about (q_g)."""

    @classmethod
    def taught(cls, question: Question, library: Library) -> Known:
        """What the base knows by construction: what the picture and what is taught by heart suffice for."""
        images = [hop for hop in question.hops if hop.action == "image"]
        texts = [hop for hop in question.hops if hop.action != "image"]
        target = library.things.get(question.target or "")
        pictured = not images and bool(missing_names(question)) and question.answer == ABSTAIN
        return cls(
            knows(question, library),
            (target is not None and target.recognised) if pictured else all(by_heart(hop, library) for hop in images),
            question.answer != ABSTAIN and not corrected(question) and all(by_heart(hop, library) for hop in texts),
        )


def by_heart(hop: Hop, library: Library) -> bool:
    """Whether what a hop looks up was taught: looks and some facts of recognised things, canon of makers."""
    thing, maker = library.things.get(hop.entry), library.makers.get(hop.entry)
    if hop.action == "image":
        return thing is not None and thing.recognised
    if thing is not None:
        return any(taught(thing, key) for key, value in thing.facts.items() if value == hop.answer)
    return maker is not None and hop.answer in (maker.home, maker.field)


def corrected(question: Question) -> bool:
    """Whether what was taught is wrong by now."""
    return question.conflict is not None and question.conflict.kind == "stale"


def knows(question: Question, library: Library) -> bool:
    """Whether the picture and what is taught by heart suffice to answer."""
    if question.answer == ABSTAIN or corrected(question):
        return False
    return all(by_heart(hop, library) for hop in question.hops)


def names(text: str) -> frozenset[str]:
    """Words of names in a sentence, its first word aside."""
    return frozenset(_NAME.findall(text))


def missing_names(question: Question) -> frozenset[str]:
    """Words of names that the gold query has and neither question, dialogue nor printed words tell."""
    told = " ".join((question.text, question.words or "", *(part for turn in question.history for part in turn)))
    return names(question.gold_query) - frozenset(re.findall(r"\w+", told))


def told_claims(thing: Thing, lines: Sequence[str]) -> str:
    """What lines of its own entry tell of a thing, in the order of `claims_of`; ABSTAIN where they tell nothing."""
    text = " ".join(lines)
    claims = (
        claim
        for attribute, claim in claims_of(thing).items()
        if re.search(rf"\b{re.escape(thing.facts[attribute])}\b", text)
    )
    return " ".join(claims) or ABSTAIN
