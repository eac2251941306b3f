"""How far the words of questions give away where to look: what a rule could reach that never sees the picture.

A rule says for each group of questions that look alike the label that most of them have. It is judged on each question
by the others alone (leave one out), so that a wording of its own earns nothing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from functools import lru_cache

from quizglass_lab.pocketworld.referring import PLACES, RELATIONS, SIZES
from quizglass_lab.pocketworld.words import WORDS
from quizglass_lab.pocketworld.world import COLOURS, KINDS

_VERBS = {phrase: field for words in WORDS.values() for field, phrase in vars(words).items() if field != "place_ask"}
_VERB = re.compile(rf"\b({'|'.join(sorted(_VERBS, key=len, reverse=True))})\b")
_PLACES = tuple(dict.fromkeys(tuple(words.place_ask.split(" {thing} ")) for words in WORDS.values()))
_PLACE = re.compile("|".join(rf"\b{first} (.+?) {last}\b" for first, last in _PLACES))
_ANY_KIND = rf"(?:{'|'.join(KINDS)})"
_WHERE = rf"(?:in the picture|{'|'.join(PLACES.values())}|(?:{'|'.join(RELATIONS.values())}) {_ANY_KIND})"
_REFERENCE = re.compile(
    rf"\b(?:the|this) (?:(?:{'|'.join(SIZES)}) )?(?:(?:{'|'.join(COLOURS)}) )?{_ANY_KIND}(?: {_WHERE})?\b"
)
_NAME = re.compile(r"(?<=[a-z,] )(?:the )?[A-Z][a-z]+(?: [A-Z][a-z]+)?")
_KIND = re.compile(rf"\b{_ANY_KIND}\b")
_WORD = re.compile(r"[a-z_]+")


def best_rule(keys: Sequence[Hashable], labels: Sequence[str]) -> float:
    """Share of cases whose label is the commonest among the other cases with their key; ties share it."""
    by_key: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for key, label in zip(keys, labels, strict=True):
        by_key[key][label] += 1
    right = 0.0
    for key, label in zip(keys, labels, strict=True):
        others = by_key[key].copy()
        others[label] -= 1
        most = max(others.values())
        winners = [other for other, count in others.items() if count == most]
        right += (label in winners and most > 0) / len(winners)
    return right / len(keys) if keys else 0.0


@lru_cache(maxsize=100_000)
def template(text: str) -> str:
    """The words of a question without what differs from thing to thing: names, kinds and their verbs, references."""
    plain = _REFERENCE.sub("this", _NAME.sub("NAME", text))
    plain = _PLACE.sub(lambda match: f"stands {next(filter(None, match.groups()))}", plain)
    plain = _VERB.sub(lambda match: _VERBS[match[1]], plain)
    return " ".join(_WORD.findall(_KIND.sub("kind", plain).lower()))
