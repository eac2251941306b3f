"""Whether a question is in one of the languages that a bundle answers in.

Letters decide where they can. English is separated from other languages of its letters by counted common words and by a
model, which alone is wrong about one short question in ten. That model identifies the other languages. What is in doubt
counts as in.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from enum import Enum
from functools import lru_cache

from quizglass_server.steps.language.detection import common_words
from quizglass_server.steps.language.detection.model import known, probabilities
from quizglass_server.steps.language.detection.scripts import share_written_in

_ENGLISH_TAG = "en"
_LONGEST = 400
"""Characters that are looked at."""
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_LEAST_LETTERS = 2
_LEAST_SHARE = 0.5
"""Of a question's letters, that a language is written in; fewer are a name or a quoted word."""
_LEAST_PROBABILITY = 1e-3
_MOST_DOUBT = 4.0
"""Margin, in log odds, that a foreign language needs over the bundle's own, English apart."""
_MOST_ODDS = 1.0
"""Of English; the model is sure of it where it should not be."""
_VOCABULARY_WEIGHT, _SHARED_WEIGHT = 0.7, 0.2
"""What a word of these tables counts beside one that is English alone."""
_MODEL_WEIGHT, _ALONE_WEIGHT = 0.1, 0.3
"""What the model's log odds count, beside words that are English and without any."""
_NAMES_DOUBT = 1.0
"""Margin, in log odds, that another language needs where no word is common."""
_SIBLINGS = ("bs hr sh sr", "id ms", "da nb nn no")
"""Languages that short questions do not tell apart."""

_SUFFIXES = (
    ("ies", "y"), ("ied", "y"), ("ier", "y"), ("ily", "y"), ("s", ""), ("es", ""), ("d", ""), ("ed", ""), ("ing", ""),
    ("ing", "e"), ("er", ""), ("r", ""), ("ly", ""),
)  # fmt: skip
"""Endings of English forms, and what the word itself has in their place."""
_CONTRACTED = ("'ll", "'d", "'ve", "'re", "n't")
"""Apostrophes that no other language has, nor names with "'s"."""
_SHORTEST = 3
"""Letters of a word that endings are taken from."""

_ENGLISH, _VOCABULARY = frozenset(common_words.ENGLISH.split()), frozenset(common_words.VOCABULARY.split())
_SHARED, _GERMAN_TOO = frozenset(common_words.SHARED.split()), frozenset(common_words.GERMAN_TOO.split())
_GERMAN_VERBS = frozenset(common_words.GERMAN_VERBS.split())
_OTHERS = frozenset(common_words.OTHERS.split()) - _ENGLISH - _VOCABULARY - _SHARED


class _Table(Enum):
    """Which table has a word."""

    ENGLISH = "english"
    VOCABULARY = "vocabulary"
    SHARED = "shared"
    OTHERS = "others"
    NONE = "none"


_TABLES = ((_Table.ENGLISH, _ENGLISH), (_Table.VOCABULARY, _VOCABULARY), (_Table.SHARED, _SHARED))


def is_in(question: str, languages: Collection[str]) -> bool:
    """Whether a question may be in one of these languages; about 0.1 ms.

    Args:
        question: as it was asked; with less than two letters it is in any.
        languages: primary tags of BCP 47, at least one. Of one that the model does not know, any question may be.
    """
    asked = " ".join(question[:_LONGEST].replace("\u2019", "'").split())
    text = asked.lower()
    if sum(map(str.isalpha, text)) < _LEAST_LETTERS:
        return True
    others = set(languages) - {_ENGLISH_TAG}
    if others and _written_in(text, others) and _odds(text, others) >= -_MOST_DOUBT:
        return True
    return _ENGLISH_TAG in languages and _written_in(text, {_ENGLISH_TAG}) and _english(asked) >= 0


def _written_in(text: str, languages: Collection[str]) -> bool:
    return share_written_in(text, languages) >= _LEAST_SHARE


def _english(asked: str) -> float:
    """Score of English against all other languages: common words, and the model's log odds."""
    odds = min(_odds(asked.lower(), {_ENGLISH_TAG}), _MOST_ODDS)
    words = _WORD.findall(asked)
    tables = [_table(word.lower()) for word in words]
    named = [at for at, word in enumerate(words) if at and word[0].isupper() and not word.isupper()]
    counted = Counter(table for at, table in enumerate(tables) if table is not _Table.OTHERS or at not in named)
    own = counted[_Table.ENGLISH] + _VOCABULARY_WEIGHT * counted[_Table.VOCABULARY]
    shared, others = counted[_Table.SHARED], counted[_Table.OTHERS]
    others += 1 in named and words[0].lower() in _GERMAN_VERBS
    if not (own or shared or others):
        return odds + _NAMES_DOUBT  # names, or words that are too rare for the tables
    score = own + _SHARED_WEIGHT * shared - others + (_MODEL_WEIGHT if own else _ALONE_WEIGHT) * odds
    return max(score, 0.0) if _only_english(words, tables, named) else score


def _only_english(words: Sequence[str], tables: Sequence[_Table], named: Collection[int]) -> bool:
    """Whether every word is English: "Max dose?". A name is in any language, but in German any noun may look like one:
    beside names one word has to be in no German question."""
    strange = [at for at, table in enumerate(tables) if table in (_Table.OTHERS, _Table.NONE)]
    if not strange:
        return True
    plain = (word.lower() for at, word in enumerate(words) if at not in named)
    return all(at in named for at in strange) and any(word not in _GERMAN_TOO for word in plain)


@lru_cache(maxsize=4096)
def _table(word: str) -> _Table:
    """Which table has a word of small letters, or the word that it is a form of: "swings" is "swing"."""
    if word in _OTHERS:
        return _Table.OTHERS
    found = _as_it_stands(word)
    if found is not _Table.NONE or word.endswith(_CONTRACTED):
        return _Table.ENGLISH if found is _Table.NONE else found
    for suffix, ending in (("'s", ""), *_SUFFIXES):
        stem = word.removesuffix(suffix) + ending
        single = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
        for base in (stem, single) if word.endswith(suffix) and len(stem) >= _SHORTEST else ():
            found = _as_it_stands(base)
            if found is not _Table.NONE:
                return _Table.SHARED if found is _Table.SHARED else _Table.VOCABULARY
    return _Table.NONE


def _as_it_stands(word: str) -> _Table:
    return next((table for table, having in _TABLES if word in having), _Table.NONE)


def _odds(text: str, languages: Collection[str]) -> float:
    """Log odds of the likeliest of these languages to the likeliest other one, by the model; 0 where it knows none."""
    meant = _with_siblings(languages)
    if meant.isdisjoint(known()):
        return 0.0
    found = probabilities(text)
    inside = max((found.get(tag, 0.0) for tag in meant), default=0.0)
    outside = max((probability for tag, probability in found.items() if tag not in meant), default=0.0)
    return math.log((inside + _LEAST_PROBABILITY) / (outside + _LEAST_PROBABILITY))


def _with_siblings(languages: Collection[str]) -> set[str]:
    groups = (set(group.split()) for group in _SIBLINGS)
    return set(languages).union(*(group for group in groups if not group.isdisjoint(languages)))
