"""Words that point at a thing instead of naming it: "this" at what is seen, "it" and "he" at what was spoken of; and
questions that leave it out: "And when?".

English, by its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quizglass_server.steps.language import english
from quizglass_server.steps.language.wording import Word, words

_THING = re.compile(r"\b(?:it|its|they|them|their|theirs)\b", re.IGNORECASE)
_BEING = re.compile(r"\b(?:he|him|his|himself|she|her|hers|herself)\b", re.IGNORECASE)
_POINTS_OUT = re.compile(r"\b(?:that|those)\b", re.IGNORECASE)
"""What points at a thing that is seen or was spoken of; "that" is another word as well."""
_HERE = re.compile(r"\bhere\b", re.IGNORECASE)
_SEEN = re.compile(r"\b(?:this|these)\b", re.IGNORECASE)

_LONGEST = 80
"""Characters of a question that leaves its subject out."""
_MOST_BESIDE = 4
"""Words of a phrase that is put in place of one of the question before: "And in the early evening?"."""
_OPENERS = frozenset(("and", "but", "or", "so"))
_WHAT_ABOUT = (["what", "about"], ["how", "about"])
_ASKING = frozenset("who whom whose what which when where why how".split())  # noqa: SIM905
_PREPOSITIONS = frozenset(
    """after as at before between by during for from in near on over per since through till to under until up via with
    within without""".split()  # noqa: SIM905
)
_BEHIND = frozenset(
    [
        "about",
        "ago",
        "again",
        "at",
        "by",
        "else",
        "exactly",
        "for",
        "from",
        "in",
        "not",
        "of",
        "on",
        "please",
        "precisely",
        "roughly",
        "then",
        "to",
        "with",
    ]
)
"""Words behind a question word that ask for nothing more: "Where from?", "Who else?"."""
_MEASURED = frozenset(("many", "much"))
_VERBS = frozenset(
    f"""{english.AUXILIARIES} am be been being shall compare describe explain give go list read say show stop tell thank
    thanks""".split()
)
"""What makes a question or a request of its own."""
_SPEAKERS = frozenset("i me mine myself us we you your yours yourself".split())  # noqa: SIM905
_DATES = frozenset(f"{english.MONTHS} {english.WEEKDAYS} christmas easter".split())


def says_this(question: str) -> bool:
    """Whether it points at the thing that is seen."""
    return _SEEN.search(question) is not None


def speaks_of(question: str) -> bool:
    """Whether it says "it", "they", "he" or "she" of the thing spoken of last."""
    return speaks_of_thing(question) or _BEING.search(question) is not None


def speaks_of_thing(question: str) -> bool:
    """Whether it says "it" or "they" of the thing spoken of last."""
    return _THING.search(question) is not None


def may_point(question: str) -> bool:
    """Whether it may say "this", "it", "he", "her" or "here" of its subject, or leaves it out, and so names nothing by
    itself."""
    forms = (_BEING, _POINTS_OUT, _HERE)
    return points(question) or any(form.search(question) for form in forms) or leaves_out(question)


def points(question: str) -> bool:
    """Whether it says "this" or "it" of its subject."""
    return says_this(question) or speaks_of_thing(question)


def leaves_out(question: str) -> bool:
    """Whether it leaves out its subject, which is that of the question before: "And when?", "For how much?", "With
    whom?", "How long?", "And on Mondays?", "What about eggshells?"."""
    said = list(words(question)) if len(question) <= _LONGEST else []
    if not said or any(_is_verb(word.key) or word.key in _SPEAKERS for word in said):
        return False
    opened = said[0].key in _OPENERS
    said = said[opened:]
    if [word.key for word in said[:2]] in _WHAT_ABOUT:
        opened, said = True, said[2:]
    bound = len(said) > 1 and said[0].key in _PREPOSITIONS
    said = said[bound:]
    if said and said[0].key in _ASKING:
        return _asks_alone(said, opened or bound)
    if not 0 < len(said) <= _MOST_BESIDE:
        return False
    return bound or (opened and "the" not in {word.key for word in said} and not _names(said))


def _is_verb(key: str) -> bool:
    contracted = key.endswith(("n't", "'re", "'ll", "'d")) or (key.endswith("'s") and key[:-2] in _ASKING)
    return contracted or key in _VERBS


def _asks_alone(said: Sequence[Word], more: bool) -> bool:
    """Whether a question word stands there with no more than "much" or a noun behind it; with two where it goes on from
    what was said."""
    asking, *behind = [word.key for word in said]
    while behind and behind[-1] in _BEHIND:
        behind.pop()
    if asking == "how":
        return len(behind) <= 1 + more + (behind[:1] != [] and behind[0] in _MEASURED)
    if asking in ("what", "which", "whose"):
        return len(behind) <= 1 + more and not _names(said[1:])
    return len(behind) <= more


def _names(said: Sequence[Word]) -> bool:
    """Whether these words have a name, which is a subject; days and months are none."""
    return any(word.named and word.key[0].isalpha() and word.key.removesuffix("s") not in _DATES for word in said)
