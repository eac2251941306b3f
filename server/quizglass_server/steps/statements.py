"""What a sentence states, word by word, so that two sentences can be compared: content words, numbers, and polarity.

English: function words and negations are English ones, and words are compared by their Snowball stems. Words of another
language are compared as they are written, whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from snowballstemmer import stemmer

from quizglass_server.steps import english
from quizglass_server.steps.wording import Word, words

_STATELESS = frozenset(f"{english.FUNCTION} {english.FRAMING}".split())
_NEGATIONS = frozenset(english.NEGATIONS.split())
_NUMBERS = {word: str(number) for number, word in enumerate(english.NUMBERS.split())}
_MEANINGS = {word: group.split()[0] for group in english.SAME.strip().splitlines() for word in group.split()}
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_CLAUSE_END = re.compile(r"[,:;()]|\b(?:and|but|or|which|while)\b", re.IGNORECASE)
_NOT_ONLY = re.compile(r"\bnot (?=only\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Content:
    """A content word of a statement."""

    word: Word
    meaning: str
    """What words of the same meaning share: a stem, a number in digits, or the first of a group of synonyms."""
    negated: bool
    clause: int
    """Which clause of the text it stands in, from 0."""
    follows: bool
    """Whether the content word before it stands directly before it, with nothing but a space between."""


@lru_cache(maxsize=4096)
def meaning(key: str) -> str:
    """What a word stands for; `key` as of `Word`."""
    if key[0].isdigit():
        whole = key.replace(",", "")
        return whole.rstrip("0").rstrip(".") if "." in whole else whole
    bare = key.removesuffix("'s")
    return _NUMBERS.get(bare) or _MEANINGS.get(bare) or str(stemmer("english").stemWord(bare))


def states(word: Word) -> bool:
    """Whether a word states something: a name, a number, or no function word."""
    if word.key[0].isdigit():
        return True
    return not (word.key in _STATELESS or _negates(word.key))


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with where it begins, in code points."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if text[start : end.start()].strip():
            yield start, text[start : end.start()]
        start = end.end()
    if text[start:].strip():
        yield start, text[start:]


def contents(sentence: str) -> tuple[Content, ...]:
    """The content words of one sentence, in order.

    A negation reaches to the end of its clause; an even number of them in a clause makes it positive again.
    """
    plain = _NOT_ONLY.sub(lambda match: " " * len(match[0]), sentence)
    bounds = [match.start() for match in _CLAUSE_END.finditer(plain)]
    made: list[Content] = []
    negated, clause, last_end = False, 0, -2
    for word in words(plain):
        while clause < len(bounds) and bounds[clause] <= word.start:
            negated, clause = False, clause + 1
        if _negates(word.key):
            negated = not negated
        elif states(word):
            made.append(Content(word, meaning(word.key), negated, clause, word.start - last_end == 1))
            last_end = word.end
    return tuple(made)


def _negates(key: str) -> bool:
    return key in _NEGATIONS or key.endswith("n't")


def agrees(answer: Sequence[Content], evidence: Sequence[Content], title: Sequence[Content]) -> bool:
    """Whether everything that a clause states is stated by one sentence of the evidence, in the same polarity.

    Args:
        answer: content words of the clause; not empty.
        evidence: those of the sentence.
        title: those of what the evidence is about, which a sentence that says "it" leaves out.
    """
    said = {(content.meaning, content.negated) for content in evidence}
    about = {content.meaning for content in title}
    if not all((content.meaning, content.negated) in said or content.meaning in about for content in answer):
        return False
    if any(content.negated for content in answer) != _negative_where(answer, evidence):
        return False
    return not any(_taken_apart(one, other, evidence) for one, other in _neighbours(answer))


def _negative_where(answer: Sequence[Content], evidence: Sequence[Content]) -> bool:
    """Whether the evidence negates what the answer's words say, so far as they are its own."""
    wanted = {content.meaning for content in answer}
    matched = [content for content in evidence if content.meaning in wanted]
    positive = {content.meaning for content in matched if not content.negated}
    return any(content.negated and content.meaning not in positive for content in matched)


def _neighbours(contents: Sequence[Content]) -> Iterator[tuple[Content, Content]]:
    return ((one, other) for one, other in pairwise(contents) if other.follows)


def _taken_apart(one: Content, other: Content, evidence: Sequence[Content]) -> bool:
    """Whether two words that the answer joins go with other words in the evidence: its "blue car" and "red roof".

    Only where each is joined to another word there, and never both to each other. Two names belong together always.
    """
    pairs = [(a.meaning, b.meaning) for a, b in _neighbours(evidence)]
    if (one.meaning, other.meaning) in pairs:
        return False
    if one.word.named and other.word.named:
        return True
    return any(a == one.meaning for a, _ in pairs) and any(b == other.meaning for _, b in pairs)
