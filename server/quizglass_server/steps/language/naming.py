"""Names in questions and queries: those that no text has, and one in place of the words that point at a subject.

English, by its words. A small model that is given the name may put the one that the question has in both places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from quizglass_server.steps.language import english
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.phrases import ANYTHING, named_at, phrases_of
from quizglass_server.steps.language.statements import sentences
from quizglass_server.steps.language.wording import Word, bare, proper_names, words

_POINTER = re.compile(r"\b(?:this|that|these|those|the|my|your)\s+$", re.IGNORECASE)
_ALONE = re.compile(r"\b(?:this|these)\b", re.IGNORECASE)
_ENDING = "'s"
_ACRONYM = re.compile(r"\b[A-Z]{2,}\b")
"""Written large whatever it stands for: a PIN, a TV."""
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_COMMON = frozenset(
    map(
        meaning,
        f"""{english.FUNCTION} {english.FRAMING} {english.MONTHS} {english.WEEKDAYS} {english.TIMES} advent christmas
        easter time moment best first last latest main new next number old right same usual address date place word
        way""".split(),
    )
)
"""Meanings of words that fit any thing, and distinguish none."""
_MOST = 2 / 3
"""Least share of a question's words in a text that it may be about; chosen as docs/benchmarks/own.md says."""


_MINE = frozenset(("the", "my", "our", "this"))
_OF_OTHERS = frozenset(("a", "an", "another", "her", "his", "other", "their", "your"))
_FUNCTION = frozenset(english.FUNCTION.split())


def speaks_of(text: str, title: str, question: str) -> bool:
    """Whether a text means by a title's name the one thing that a question means by it.

    "The car" and "Car:" do, and "the car passed" if it is asked what it passed; "Anna's car", "the company car" and
    "the car park" do not. A proper name may stand without an article.
    """
    name = [word.key for word in words(title)]
    name = name[1:] if name[:1] and name[0] in _MINE else name
    asked, said = words(question), words(text)
    meant = {meaning(word.key) for word in asked}
    proper = any(word.named and bare(word.key) in name for word in asked[1:])
    keys, size = [word.key for word in said], len(name)
    return bool(name) and any(
        [*keys[at : at + size - 1], bare(keys[at + size - 1])] == name
        and _begins(text, said, at, proper=proper)
        and _ends(text, said, at + size, meant)
        for at in range(len(keys) - size + 1)
    )


def _begins(text: str, said: Sequence[Word], at: int, *, proper: bool) -> bool:
    """Whether the words before a name leave it the name of one's own thing."""
    if not at or text[said[at - 1].end : said[at].start].strip():
        return True
    before = said[at - 1].key
    return before in _MINE or (proper and before == bare(before) and before not in _OF_OTHERS)


def _ends(text: str, said: Sequence[Word], at: int, meant: Set[str]) -> bool:
    """Whether a name is no part of a longer one: what follows is no other noun, as far as that can be seen."""
    if said[at - 1].key != bare(said[at - 1].key) or at == len(said) or text[said[at - 1].end : said[at].start].strip():
        return True
    after = said[at].key
    return after in _FUNCTION or after.endswith("ed") or meaning(after) in meant


def repeats_a_name(text: str) -> bool:
    """Whether a sentence has one name twice, or a text one sentence: what it compares is compared with itself."""
    said = [sentence for _, sentence in sentences(text)]
    named = [Counter(word.key for word in words(each)[1:] if word.named and word.key[0].isalpha()) for each in said]
    return any(count > 1 for names in named for count in names.values()) or len(set(said)) < len(said)


def with_name(question: str, name: str) -> str | None:
    """The question with the name of the one thing that it points at; None where it points at none, or at several."""
    pointed = [
        (pointer.start(), each.end)
        for each in named_at(question)
        if not each.by_name and (pointer := _POINTER.search(question[: each.start])) is not None
    ]
    alone = [
        match.span() for match in _ALONE.finditer(question) if not any(at <= match.start() < end for at, end in pointed)
    ]
    if len(pointed) + len(alone) != 1:
        return None
    ((start, end),) = pointed + alone
    return f"{question[:start]}the {name}{question[end:]}"


def has_ungrounded_names(text: str, told: object) -> bool:
    """Whether a text names something, behind its first word, that stands nowhere in the evidence.

    Languages that write all nouns with capitals name more than others.

    Args:
        text: a question or a sentence.
        told: texts, in lists and mappings of any depth.
    """
    known = {word.key.removesuffix(_ENDING) for each in _texts(told) for word in words(each)}
    named = (word.key.removesuffix(_ENDING) for word in words(text)[1:] if word.named and word.key[0].isalpha())
    return any(name not in known for name in named)


def _texts(told: object) -> Iterator[str]:
    if isinstance(told, str):
        yield told
    elif isinstance(told, Mapping):
        yield from _texts(list(told.values()))
    elif isinstance(told, Sequence):
        for each in told:
            yield from _texts(each)


def is_about_another(question: str, told: str) -> bool:
    """Whether a question says what it is about and a text has none of that: "Who made the piano?" of a violin's note.

    What it is about are its proper names, and what it says "the", "my" or the like of. A question with neither says
    nothing of that.
    """
    known = _stems(told)
    return any(said and said.isdisjoint(known) for said in (_proper(question), _things(question)))


def may_be_about(question: str, told: str) -> bool:
    """Whether a question that points at nothing may be about a text: "When does the bin lorry come?" about a note that
    says when the lorry empties the bins.

    The text has all names of the question, all that it says "the", "my" or the like of, and most of its words. A
    question with neither says too little of that: "When did we last play?".
    """
    known = _stems(told)
    return any(_has_subject(known, form) for form in _forms(question))


def _has_subject(known: set[str], question: str) -> bool:
    named, asked = _proper(question) | _things(question), _distinguishing(question)
    return bool(named) and named <= known and len(asked & known) >= _MOST * len(asked)


def _proper(question: str) -> set[str]:
    """Stems of its proper names; the first word of a sentence is written large anyway."""
    plain = _ACRONYM.sub(lambda match: match[0].lower(), question)
    return {
        meaning(name) for form in _forms(plain) for _, each in sentences(form) for name in proper_names(each)
    } - _COMMON


def _things(question: str) -> set[str]:
    """Stems of the nouns behind "the", "my" and the like."""
    return {stem for phrase in phrases_of(question) if phrase != ANYTHING for stem in _stems(phrase)}


def _stems(text: str) -> set[str]:
    return {stem for form in _forms(text) for stem in _distinguishing(form)}


def _distinguishing(text: str) -> set[str]:
    return {meaning(word.key) for word in words(text)} - _COMMON


def _forms(text: str) -> tuple[str, str]:
    """A text with hyphens and without: "Wi-Fi" is "wifi"."""
    return text, _HYPHEN.sub("", text)
