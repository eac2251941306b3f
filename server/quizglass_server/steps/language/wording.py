"""Compares wordings: what stays of a text when case, punctuation and spacing do not count."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_FIRST_MARK, _BASIC_PLANE = 0x300, 0x10000


def _letters() -> str:
    """Letters as a regular expression, with the marks that some scripts and decomposed accents put behind them: Python
    counts those as no part of a word."""
    points = map(chr, range(_FIRST_MARK, _BASIC_PLANE))
    marks = "".join(point for point in points if unicodedata.category(point).startswith("M"))
    return rf"[^\W\d_]+(?:[{marks}]+[^\W\d_]*)*"


_LETTERS = _letters()
# A number keeps its inner separators (3.5, 1,000); a word keeps its inner apostrophe (don't).
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|{_LETTERS}(?:['\u2019]{_LETTERS})*")

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_TITLES_OF_PEOPLE = {"mr", "mrs", "ms", "miss", "dr", "prof", "aunt", "uncle", "i", "i'm", "i've", "i'd", "i'll"}
_SHORT = 3  # letters of words that do not tell things apart


class Word(NamedTuple):
    """A word of a text and where it stands."""

    key: str
    """Case-folded, compatibility-normalised, straight apostrophes."""
    start: int
    """First character, in code points."""
    end: int
    named: bool
    """Whether it is written as a name or number: begins with a capital or a digit."""


def words(text: str) -> tuple[Word, ...]:
    """The words and numbers of a text, in order; digits and letters part ("1974crowns" is two)."""
    found = []
    for match in _WORD.finditer(text):
        word, (start, end) = match[0], match.span()
        found.append(Word(_key(word), start, end, word[0].isupper() or word[0].isdigit()))
    return tuple(found)


def same_wording(one: str, other: str) -> bool:
    """Whether two texts have the same words in the same order."""
    return [word.key for word in words(one)] == [word.key for word in words(other)]


def stands_in(part: Sequence[Word], whole: Sequence[Word]) -> bool:
    """Whether `part`, not empty, is a run of words of `whole`."""
    keys, all_keys = [word.key for word in part], [word.key for word in whole]
    size = len(keys)
    return size > 0 and any(all_keys[at : at + size] == keys for at in range(len(all_keys) - size + 1))


def mentions(text: str, name: str) -> bool:
    """Whether a text has a name, in any case and with a short ending, and not merely within another word.

    The "elephant" is no "Ant", nor "1942" a "42". Scripts without capitals may not part words: there any place will do.
    """
    text, name = (unicodedata.normalize("NFC", each).casefold() for each in (text, name))
    if _NUMBER.fullmatch(name):
        return re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(name)}(?!\w|[.,]\d)", text) is not None
    if name.upper() == name:
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}\w{{0,2}}(?!\w)", text) is not None


def shares_name(text: str, title: str) -> bool:
    """Whether a text has all words of a title that say what it is: those of more than three letters, else all.

    A plural counts as its singular, and in the text "Henrik's" as "Henrik".
    """
    telling = _telling(title)
    return bool(telling) and telling <= _said(text)


def shares_part(text: str, title: str) -> bool:
    """Whether a text has any of the words that `shares_name` wants all of."""
    return not _telling(title).isdisjoint(_said(text))


def shares_proper_name(text: str, title: str) -> bool:
    """Whether a title has a name of a text: a word with a capital that does not begin it, with or without "'s"."""
    return not proper_names(text).isdisjoint(bare(word.key) for word in words(title))


def proper_names(text: str) -> set[str]:
    """The names of a text, a sentence: words with a capital that do not begin it, without "'s" and titles of people."""
    return {bare(word.key) for word in words(text)[1:] if word.named and word.key[0].isalpha()} - _TITLES_OF_PEOPLE


def bare(word: str) -> str:
    """A word without "'s"."""
    return word.removesuffix("'s").removesuffix("s'")


def _said(text: str) -> set[str]:
    """Words of a text as those of a title are compared with them."""
    return {_singular(each) for word in words(text) for each in (word.key, bare(word.key))}


def _telling(title: str) -> set[str]:
    named = {_singular(word.key) for word in words(title)}
    return {word for word in named if len(word) > _SHORT} or named


def _singular(word: str) -> str:
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith("ss") else word


def starts_with(whole: Sequence[Word], part: Sequence[Word]) -> bool:
    """Whether a text begins with the words of `part`."""
    return [word.key for word in whole[: len(part)]] == [word.key for word in part]


@lru_cache(maxsize=16384)
def _key(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("\u2019", "'")
