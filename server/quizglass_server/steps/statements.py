"""What a sentence states, word by word: content words, numbers, their order and polarity.

English: function words, negations and synonyms are English ones (`english.py`), and words are compared by their
Snowball stems. Words of another language are compared as they are written, whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from snowballstemmer import stemmer

from quizglass_server.steps import english
from quizglass_server.steps.wording import Word, words

_STATELESS = frozenset(f"{english.FUNCTION} {english.FRAMING}".split())
_NEGATIONS = frozenset(english.NEGATIONS.split())
_ROLES, _PRONOUNS = frozenset(english.ROLES.split()), frozenset(english.PRONOUNS.split())
_AUXILIARIES = frozenset(english.AUXILIARIES.split())
_UNITS = {"single": 1} | {word: number for number, word in enumerate(english.NUMBERS.split())}
_TENS = {word: number * 10 for number, word in enumerate(english.TENS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_ORDINALS = {word: str(number) for number, word in enumerate(english.ORDINALS.split(), 4)}
_MEANINGS = {word: group.split()[0] for group in english.SAME.strip().splitlines() for word in group.split()}
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_CONJUNCTIONS = "and|but|or|which|who|whom|whose|that|while|whereas|although|though|until|where|when"
_CLAUSE_END = re.compile(rf"(?<!\d),|,(?!\s?\d)|[:;()]|\b(?:{_CONJUNCTIONS})\b", re.IGNORECASE)
_PARTICIPLES = ("ed", "n", "lt", "nt", "ght", "pt", "ld", "de", "ut")
_TIMES = frozenset(("in", "at", "on"))
_BE = frozenset(english.BE.split())
_LONGEST_ITEM = 2  # content words of a list's next item
_ARTICLES = frozenset(("a", "an", "the"))
_BINDING = frozenset(english.BINDING.split()) | _BE
_RELATIVE = frozenset(("which", "who", "whom", "whose", "that", "where"))
_NOT_ONLY = re.compile(r"\bnot (?=only\b)", re.IGNORECASE)
_LEAD = re.compile(
    r"^\s*(?:the|this|that) (?:\w+ ){1,2}(?:shown|pictured|here|(?:in|on) (?:the|this|your) "
    r"(?:photo|picture|image|photograph))\b(?: here)?",
    re.IGNORECASE,
)
"""The frame of an answer: "The animal in the photo is"."""


@dataclass(frozen=True, slots=True)
class Content:
    """A content word of a sentence."""

    word: Word
    meaning: str
    """What words of the same meaning share: a stem, a number in digits, or the first of a group of synonyms."""
    negated: bool
    follows: bool
    """Whether the content word before it stands directly before it, with nothing but a space between."""
    passive: bool
    """Whether it is a participle directly behind a form of "to be"."""
    role: str
    """The word of `english.ROLES` before it, as in "from red"; empty: none."""
    bound: bool
    """Whether a preposition or a form of "to be" binds it to the content word before it."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a sentence between commas, conjunctions and the like that states something."""

    contents: tuple[Content, ...]
    own_subject: bool
    """Whether it says itself what it is about; else the clauses before it do."""
    relative: bool
    """Whether it only adds to the clause before it, as after "which"."""
    continues: bool
    """Whether it belongs to the clause before it: relative, or a list's next item without an article."""
    pronouns: tuple[int, ...]
    """Where it says "it" or the like, in code points."""


@lru_cache(maxsize=4096)
def meaning(key: str) -> str:
    """What a word stands for; `key` as of `Word`."""
    if key[0].isdigit():
        whole = key.replace(",", "")
        return whole.rstrip("0").rstrip(".") if "." in whole else whole
    bare = key.removesuffix("'s")
    if bare in _UNITS:
        return str(_UNITS[bare])
    return _ORDINALS.get(bare) or _MEANINGS.get(bare) or str(stemmer("english").stemWord(bare))


def states(word: Word) -> bool:
    """Whether a word states something: a name, a number, or no function word."""
    return word.key[0].isdigit() or not (word.key in _STATELESS or _negates(word.key))


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with where it begins, in code points."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if text[start : end.start()].strip():
            yield start, text[start : end.start()]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def clauses(sentence: str) -> list[Clause]:
    """The clauses of one sentence that state something, in order.

    A negation reaches to the end of its clause, and an even number of them make it positive again; a clause that is
    nothing but a negation ("but it is not one") is about the one before it.
    """
    plain = _LEAD.sub(lambda match: " " * len(match[0]), sentence)
    plain = _NOT_ONLY.sub(lambda match: " " * len(match[0]), plain)
    ends = [match.start() for match in _CLAUSE_END.finditer(plain)]
    parts = groupby(words(plain), key=lambda word: sum(end <= word.start for end in ends))
    stated: list[Clause] = []
    for _, part in parts:
        spoken = list(part)
        clause = _clause(spoken)
        if clause.contents:
            stated.append(clause)
        elif stated and any(_negates(word.key) for word in spoken):
            turned = tuple(replace(content, negated=not content.negated) for content in stated[-1].contents)
            stated[-1] = replace(stated[-1], contents=turned)
    return stated


def _clause(spoken: list[Word]) -> Clause:
    contents: list[Content] = []
    negated, bound, last_end, before, role = False, False, -2, "", ""
    for word in spoken:
        if _negates(word.key):
            negated = not negated
        elif states(word):
            follows = 0 <= word.start - last_end <= 1
            passive = before in _BE and word.key.endswith(_PARTICIPLES)
            if not role and before in _TIMES and word.key[0].isdigit():
                role = before
            contents.append(Content(word, meaning(word.key), negated, follows, passive, role, bound))
            last_end, role, bound = word.end, "", False
        elif word.key in _ROLES:
            role, bound = word.key, True
        elif word.key in _BINDING:
            bound = True
        before = word.key
    if negated and [content.word.key for content in contents] == ["one"]:
        contents = []  # "it is not one"
    relative = any(word.key in _RELATIVE for word in spoken[:2])
    pronouns = tuple(word.start for word in spoken if word.key in _PRONOUNS)
    subject = _has_subject(spoken) and not relative
    verb_or_article = any(word.key in _ARTICLES or word.key in _AUXILIARIES for word in spoken)
    item = len(contents) <= _LONGEST_ITEM and not verb_or_article
    return Clause(_counted(contents), subject, relative, relative or item, pronouns)


def _counted(contents: list[Content]) -> tuple[Content, ...]:
    """With runs of number words put together: "sixty-five" is 65, "fifty thousand" 50000."""
    counted: list[Content] = []
    run: list[Content] = []
    for content in [*contents, None]:
        if content is not None and _counts(content) and (not run or content.follows):
            run.append(content)
            continue
        if run:
            counted.append(replace(run[0], word=replace(run[0].word, end=run[-1].word.end), meaning=_number(run)))
        run = [content] if content is not None and _counts(content) else []
        if content is not None and not run:
            counted.append(content)
    return tuple(counted)


def _counts(content: Content) -> bool:
    key = content.word.key
    return key[0].isdigit() or key in _UNITS or key in _TENS or key in _SCALES


def _number(run: list[Content]) -> str:
    """The value of number words in digits; a run that is no one number keeps its parts."""
    if len(run) == 1 and run[0].word.key[0].isdigit():
        return run[0].meaning
    total, part = 0.0, 0.0
    for content in run:
        key = content.word.key
        if key in _SCALES:
            part = (part or 1) * _SCALES[key]
            if _SCALES[key] > 100:
                total, part = total + part, 0.0
        else:
            part += _UNITS.get(key, _TENS.get(key, 0)) if not key[0].isdigit() else _digits(content.meaning)
    value = total + part
    return str(int(value)) if value == int(value) else str(value)


def _digits(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _has_subject(spoken: list[Word]) -> bool:
    """Whether something stands before the verb, so far as a verb can be told by its form."""
    stating = [index for index, word in enumerate(spoken) if states(word) or word.key in _PRONOUNS]
    if not stating:
        return False
    verbs = (
        i for i, word in enumerate(spoken) if word.key in _AUXILIARIES or (states(word) and word.key.endswith("ed"))
    )
    return any(index > stating[0] for index in verbs)


def _negates(key: str) -> bool:
    return key in _NEGATIONS or key.endswith("n't")
