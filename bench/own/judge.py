"""Whether an answer is right, by its words: a whole quoted sentence and one word are judged alike.

What is counted as wrong, incomplete or refused is written to a list, to be read by eye (`report.py`).
"""

from __future__ import annotations

import re
from enum import StrEnum

from bench.own.dataset import Groups, OwnQuestion
from quizglass_lab.scoring.answers import normalise, refuses

_UP_TO_TWELVE = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_TENS = {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50"}
_NUMBERS = {name: str(number) for number, name in enumerate(_UP_TO_TWELVE)} | _TENS
_ONE_WORD = re.compile(r"(yes|no)\s*(?:[,.!;]|$)", re.IGNORECASE)
"""An answer that begins with the word itself; not "No soil, no turf"."""
_DOUBT = ("may be", "might be", "could be")
_TELLS = 2
"""Share of a thing's listed facts that an answer to "Tell me about it" has to say."""


class Judged(StrEnum):
    """What an answer is worth."""

    RIGHT = "right"
    """Also "I don't know", where nothing in the store answers."""
    INCOMPLETE = "incomplete"
    REFUSED = "refused"
    WRONG = "wrong"


def judge(question: OwnQuestion, answer: str) -> Judged:
    """An answer beside what a right one says."""
    gold = question.gold
    if refuses(answer):
        return Judged.REFUSED if gold.groups else Judged.RIGHT
    if not gold.groups:
        return Judged.RIGHT if _doubts(answer) and says_any(answer, gold.guess) else Judged.WRONG
    word = _ONE_WORD.match(answer.strip()) if gold.says else None
    if word and word[1].lower() != gold.says:
        return Judged.WRONG
    said = len(gold.groups) if word else _said(answer, gold.groups)
    needed = min(_TELLS, len(gold.groups)) if question.kind == "tell" else len(gold.groups)
    if said >= needed and _said(answer, gold.whole) == len(gold.whole):
        return Judged.RIGHT
    return Judged.INCOMPLETE if said else Judged.WRONG


def says(text: str, phrase: str) -> bool:
    """Whether a phrase stands in a text, word for word; numbers in words or digits."""
    return f" {plain(phrase)} " in f" {plain(text)} "


def says_any(text: str, phrases: tuple[str, ...]) -> bool:
    """Whether one of the phrases stands in a text."""
    return any(says(text, phrase) for phrase in phrases)


def plain(text: str) -> str:
    """Normalised, with small numbers as digits."""
    return " ".join(_NUMBERS.get(word, word) for word in normalise(text).split())


def _said(answer: str, groups: Groups) -> int:
    return sum(says_any(answer, group) for group in groups)


def _doubts(answer: str) -> bool:
    return any(each in answer.lower() for each in _DOUBT)
