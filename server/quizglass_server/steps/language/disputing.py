"""What another source states in place of an answer: "99 crowns" where the answer says "The Velmora costs 45 crowns".

A claim is a statement with the value in it that is compared: a number, a name, or what a clause ends in. Another source
disagrees where one of its sentences states the same with another value of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import pairwise

from quizglass_server.steps.language import english
from quizglass_server.steps.language.aligning import Path, aligned
from quizglass_server.steps.language.appearance import is_hue
from quizglass_server.steps.language.entailing import statements
from quizglass_server.steps.language.lexemes import meaning
from quizglass_server.steps.language.statements import Clause, Content, clauses

_MOST_CLAIMS = 12
"""Of one answer: a longer one is about more than what was asked, and checking it has to stay quick."""
_MONTHS = frozenset(map(meaning, english.MONTHS.split()))
_LIGHT = frozenset(map(meaning, ("stand", "measure", "have", "reach", "people", "pay")))
"""Words that may stand before a measure, whatever it is of: "people pay a price of"."""


_PLACE = re.compile(r"\b(?:where|town|city|village|country|place)\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:who|whom|whose|person|people|company|firm)\b", re.IGNORECASE)
_PLACES = frozenset(map(meaning, ("town", "city", "village", "country", "place")))
_SORTS = _PLACES.union(map(meaning, ("person", "company", "firm")))
"""What an answer's sort is called by: "the town where it stands is"."""


class _Kind(Enum):
    NUMBER = auto()
    NAME = auto()
    WORD = auto()


class _Sort(Enum):
    """What a question asks for, where it asks for a name."""

    PLACE = auto()
    PERSON = auto()
    ANY = auto()


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, and which of its contents are the value."""

    contents: tuple[Content, ...]
    start: int
    end: int
    sort: _Sort

    @property
    def value(self) -> tuple[Content, ...]:
        """What is compared."""
        return self.contents[self.start : self.end]

    @property
    def frame(self) -> tuple[Content, ...]:
        """What the value is of: the rest."""
        return (*self.contents[: self.start], *self.contents[self.end :])

    @property
    def meanings(self) -> frozenset[str]:
        """What the words of the frame stand for, without pronouns."""
        return frozenset(content.meaning for content in self.frame if not content.pronoun)

    @property
    def named(self) -> tuple[Content, ...]:
        """The names in the frame; what begins a sentence may be none."""
        first = min((content.word.start for content in self.contents), default=0)
        return tuple(
            content for content in self.frame if content.name and not content.pronoun and content.word.start > first
        )

    def having(self, value: Sequence[Content]) -> tuple[Content, ...]:
        """The statement with another value, bound as its own is."""
        first, old = value[0], self.contents[self.start]
        bound = replace(first, link=old.link, follows=old.follows, clause=old.clause, negated=old.negated)
        rest = [replace(content, clause=old.clause, negated=old.negated) for content in value[1:]]
        return (*self.contents[: self.start], bound, *rest, *self.contents[self.end :])


def claims(answer: Sequence[Clause], question: str, backing: Sequence[Clause] = ()) -> list[Claim]:
    """The claims of a sentence of an answer.

    Args:
        answer: the sentence.
        question: what it names is part of the frame.
        backing: of an answer that is no sentence, the sentence of the evidence that has its words; may be empty.
    """
    asked, sort = clauses(question), _sort(question)
    known = _meanings(asked)
    said = _meanings(answer) - known
    found: list[Claim] = []
    if len(answer) == 1 and answer[0].verb is None:
        for clause in asked:
            found += _of_question(clause, answer[0].stating, sort)
        answer = backing
    orders = [clause.contents for clause in answer] + [order for stated in statements(answer) for order in stated]
    for order in orders:
        found += _of_statement(order, said, known, sort)
    return list(dict.fromkeys(found))[:_MOST_CLAIMS]


def _sort(question: str) -> _Sort:
    if _PLACE.search(question):
        return _Sort.PLACE
    return _Sort.PERSON if _PERSON.search(question) else _Sort.ANY


def disputed(claim: Claim, sentence: Sequence[Path], about: frozenset[str]) -> tuple[int, int] | None:
    """Where a sentence has another value for a claim, in code points of the sentence; None where it has none.

    Args:
        claim: of an answer.
        sentence: what can be read in a sentence of another source.
        about: meanings of the words for what that source is about.
    """
    kind = _kind(claim.value)
    if not _relates(claim, about):
        return None
    for path in sentence:
        said = path.contents
        for start, end in _values(said, kind):
            if _differs(claim, path, start, end, about):
                has_unit = kind is _Kind.NUMBER and end < len(said) and said[end].follows
                return said[start].word.start, said[end - 1 + has_unit].word.end
    return None


def restated(claim: Claim, sentence: Sequence[Path], about: frozenset[str]) -> bool:
    """Whether a sentence says what a claim says."""
    value = [content.meaning for content in claim.value]
    for path in sentence:
        said = path.contents
        if aligned(path, claim.contents, about):
            return True
        for start, end in _values(said, _Kind.NUMBER) if _kind(claim.value) is _Kind.NUMBER else ():
            if [said[start].meaning] == value and _measured(claim, said, start, end, about):
                return True
    return False


def _of_question(asked: Clause, value: Sequence[Content], sort: _Sort) -> Iterator[Claim]:
    """ "Who founded the Velmora?" with the name in front or, "the founder of the Velmora was", behind."""
    frame = [replace(content, link="" if content.link == "be" else content.link) for content in asked.contents]
    owned = [replace(content, link=content.link or "of") if at else content for at, content in enumerate(frame)]
    for start, end in _values(value, _kind(value)):
        yield Claim((*value, *frame), start, end, sort)
        for before, link in ((frame, ""), (frame, "be"), (owned, "be")):
            bound = (*value[:start], replace(value[start], link=link), *value[start + 1 :])
            yield Claim((*before, *bound), len(before) + start, len(before) + end, sort)


def _of_statement(
    order: Sequence[Content], said: frozenset[str], known: frozenset[str], sort: _Sort
) -> Iterator[Claim]:
    """A statement's claims: with all of the question that is in it and no more, and with all but its other values."""
    values = [span for kind in (_Kind.NUMBER, _Kind.NAME) for span in _values(order, kind)]
    spans = [span for span in values if said.issuperset(content.meaning for content in order[slice(*span)])]
    asked = any(content.meaning in known for content in order)
    last = len(order) - 1
    if not spans and last > 0 and order[last].meaning in said:
        spans = [(last, last + 1)]
    for start, end in spans:
        others = {at for span in spans if span != (start, end) for at in range(*span)}
        kept = [at for at in range(len(order)) if at not in others]
        unit = start + 1 == end < len(order) and order[end].follows
        short = [at for at in kept if start <= at < end + unit or order[at].pronoun or order[at].meaning in known]
        for each in (short, kept) if asked else (kept,):
            contents = tuple(order[at] for at in each)
            at = each.index(start)
            yield Claim(contents, at, at + end - start, sort)


def _differs(claim: Claim, path: Path, start: int, end: int, about: frozenset[str]) -> bool:
    """Whether a value of a sentence stands in the place of the claim's, and is another."""
    said = path.contents
    value = frozenset(content.meaning for content in said[start:end])
    if about.issuperset(value) or not value.isdisjoint(content.meaning for content in claim.contents):
        return False
    if _kind(claim.value) is _Kind.NUMBER:
        return _measured(claim, said, start, end, about)
    stated = aligned(path, claim.having(said[start:end]), about)
    if _kind(claim.value) is _Kind.WORD:
        return stated and _in_place(claim, path, start, end, about)
    others = [content for at, content in enumerate(said) if not start <= at < end and not content.pronoun]
    known = claim.meanings | about
    has = any(one.possessive and two.meaning not in known for one, two in pairwise(said))  # "its engine"
    if has or not _of_sort(claim, said[start], others):
        return False
    if stated:  # "it replaced the Orla, which was made by Orvex": the owner of each fact is unknown
        named = [content for content in others if content.name and content.link in ("", "be", "have")]
        return known.issuperset(content.meaning for content in named)
    said_by_all = (claim.meanings - about).issubset(content.meaning for content in others)
    return said_by_all and all(content.adverb or content.meaning in known | _SORTS for content in others)


def _of_sort(claim: Claim, value: Content, others: Sequence[Content]) -> bool:
    """Whether a name may be of the sort that is asked for, by what binds it."""
    place = value.link in ("in", "from", "to") or any(content.meaning in _PLACES for content in others)
    return claim.sort is _Sort.ANY or place is (claim.sort is _Sort.PLACE)


def _relates(claim: Claim, about: frozenset[str]) -> bool:
    """Whether a frame says anything but what it is about: "is" alone is true of many values, if not of many colours."""
    says = any(not (content.pronoun or content.name or content.meaning in about) for content in claim.frame)
    return says or is_hue(claim.value[-1].word.key)


def _unit(contents: Sequence[Content], end: int) -> str:
    """What stands directly behind a number that ends there: a unit, a month, or what is counted; empty: nothing."""
    return contents[end].meaning if end < len(contents) and contents[end].follows else ""


def _measured(claim: Claim, said: Sequence[Content], start: int, end: int, about: frozenset[str]) -> bool:
    """Whether a number has the claim's unit, and its clause says all that the claim's frame says, and of nothing else.

    In whatever order: "it has a height of 300 m"; but not "its approach road is 40 m long", "10 m more than", "in 1912
    it was 300 m", "40 m of railing".
    """
    if _unit(claim.contents, claim.end) != _unit(said, end):
        return False
    number = said[start]
    frame = claim.meanings
    clause = sorted((one for one in said if one.clause == number.clause), key=lambda one: one.word.start)
    at = clause.index(number)
    known = (content.pronoun or content.adverb or content.meaning in frame | about | _LIGHT for content in clause[:at])
    if not (all(known) and (frame - about).issubset(content.meaning for content in clause)):
        return False
    after = clause[at + 1 + bool(_unit(clause, at + 1)) :]
    if any(content.link == "than" or (content.link == "of" and content.meaning not in frame) for content in after[:2]):
        return False
    others = [content for place, content in enumerate(clause) if place != at and _number(content)]
    dated = any(_unit(clause, clause.index(content) + 1) not in _MONTHS for content in others)
    return not (dated or any(content.negated for content in (*clause, *claim.contents)))


def _in_place(claim: Claim, path: Path, start: int, end: int, about: frozenset[str]) -> bool:
    """Whether a word stands in the very place: both bound alike, and with nothing else in the sentence."""
    one, other = claim.value[0], path.contents[start]
    rest = {content.meaning for at, content in enumerate(path.contents) if not start <= at < end}
    frame = {content.meaning for content in claim.frame}
    alike = one.link == other.link and one.follows == other.follows and one.adverb == other.adverb
    if is_hue(one.word.key):
        return alike and is_hue(other.word.key)
    return alike and (rest ^ frame) <= about | {"it", "its"}


def _values(contents: Sequence[Content], kind: _Kind) -> list[tuple[int, int]]:
    """Where values of a kind stand: each number, each run of names, the last word."""
    if kind is _Kind.NUMBER:
        return [(at, at + 1) for at, content in enumerate(contents) if _number(content)]
    if kind is _Kind.WORD:
        return [(len(contents) - 1, len(contents))] if contents else []
    runs: list[tuple[int, int]] = []
    for at, content in enumerate(contents):
        if not content.name or content.pronoun:
            continue
        if runs and runs[-1][1] == at and content.follows:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    return runs


def _kind(value: Sequence[Content]) -> _Kind:
    if any(map(_number, value)):
        return _Kind.NUMBER
    return _Kind.NAME if any(content.name and not content.pronoun for content in value) else _Kind.WORD


def _number(content: Content) -> bool:
    return content.meaning[0].isdigit()


def _meanings(sentence: Sequence[Clause]) -> frozenset[str]:
    return frozenset(content.meaning for clause in sentence for content in clause.stating)
