"""Whether a question is in one of the languages that a bundle answers in.

Letters decide where they can. English is separated from other languages of its letters by counted common words and by a
model, which alone is wrong about one short question in ten. That model identifies the other languages. What is in doubt
counts as in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection

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

_ENGLISH, _VOCABULARY = frozenset(common_words.ENGLISH.split()), frozenset(common_words.VOCABULARY.split())
_SHARED = frozenset(common_words.SHARED.split())
_OTHERS = frozenset(common_words.OTHERS.split()) - _ENGLISH - _VOCABULARY - _SHARED


def is_in(question: str, languages: Collection[str]) -> bool:
    """Whether a question may be in one of these languages; about 0.1 ms.

    Args:
        question: as it was asked; with less than two letters it is in any.
        languages: primary tags of BCP 47, at least one. Of one that the model does not know, any question may be.
    """
    text = " ".join(question[:_LONGEST].replace("\u2019", "'").lower().split())
    if sum(map(str.isalpha, text)) < _LEAST_LETTERS:
        return True
    others = set(languages) - {_ENGLISH_TAG}
    if others and _written_in(text, others) and _odds(text, others) >= -_MOST_DOUBT:
        return True
    return _ENGLISH_TAG in languages and _written_in(text, {_ENGLISH_TAG}) and _english(text) >= 0


def _written_in(text: str, languages: Collection[str]) -> bool:
    return share_written_in(text, languages) >= _LEAST_SHARE


def _english(text: str) -> float:
    """Score of English against all other languages: common words, and the model's log odds."""
    odds = min(_odds(text, {_ENGLISH_TAG}), _MOST_ODDS)
    words = _WORD.findall(text)
    own = sum(word in _ENGLISH for word in words) + _VOCABULARY_WEIGHT * sum(word in _VOCABULARY for word in words)
    shared, others = sum(word in _SHARED for word in words), sum(word in _OTHERS for word in words)
    if not (own or shared or others):
        return odds + _NAMES_DOUBT  # names, or words that are too rare for the tables
    return own + _SHARED_WEIGHT * shared - others + (_MODEL_WEIGHT if own else _ALONE_WEIGHT) * odds


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
