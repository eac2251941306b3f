"""The notes with their questions (`notes.toml`), and whether an answer is right, by its words."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path

NOTES = Path(__file__).with_name("notes.toml")
_DIGITS = {
    name: str(number)
    for number, name in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905, reads better
    )
}
_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_ONE_WORD = re.compile(r"(yes|no)\s*(?:[,.!;]|$)", re.IGNORECASE)
"""An answer that begins with the word itself; not "No vinegar"."""


class Judged(StrEnum):
    """What an answer is worth."""

    RIGHT = "right"
    """Also "I don't know", where the note leaves the question open."""
    REFUSED = "refused"
    WRONG = "wrong"
    """Also one that leaves out part of what is asked."""


@dataclass(frozen=True, slots=True)
class ReadingNote:
    """A note and a question about it."""

    title: str
    text: str
    question: str
    gold: tuple[tuple[str, ...], ...] = ()
    """Of each group one alternative is to be said; empty: the note leaves the question open."""
    says: str = ""
    """The word, "yes" or "no", that answers too."""

    def judge(self, answer: str, *, refuses: bool) -> Judged:
        """What an answer is worth; `refuses`: it says that it is not known."""
        if refuses:
            return Judged.REFUSED if self.gold else Judged.RIGHT
        word = _ONE_WORD.match(answer.strip()) if self.says else None
        if word is not None:
            return Judged.RIGHT if word[1].lower() == self.says else Judged.WRONG
        said = f" {_plain(answer)} "
        told = all(any(f" {_plain(each)} " in said for each in group) for group in self.gold)
        return Judged.RIGHT if self.gold and told else Judged.WRONG


@cache
def reading_notes() -> tuple[ReadingNote, ...]:
    """Every note of `notes.toml`, in order."""
    tables = tomllib.loads(NOTES.read_text(encoding="utf-8"))["note"]
    return tuple(
        ReadingNote(each["title"], each["text"], each["q"], _groups(each.get("gold", "")), each.get("says", ""))
        for each in tables
    )


def notes_digest() -> str:
    """Names the notes and questions."""
    return sha256(NOTES.read_bytes()).hexdigest()


def _groups(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(each.strip() for each in group.split("|") if each.strip()) for group in text.split("&") if group.strip()
    )


def _plain(text: str) -> str:
    """Words alone, in small letters, small numbers as digits."""
    return " ".join(_DIGITS.get(word, word) for word in _WORD.findall(text.casefold()))
