"""Short answers whose words stand in a sentence that contradicts the question: "Mondays" in "closed on Mondays".

An answer of a few words states nothing that could be compared, so the clause of the evidence that has them counts:
whether it is negated, has "closed" where the question has "open", or has the other end of a time. English, by its
words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from quizglass_server.steps.language import english
from quizglass_server.steps.language.statements import Clause, Content, clauses, verbal
from quizglass_server.steps.language.wording import words

_Pair = tuple[frozenset[str], frozenset[str]]
_PAIRS: tuple[_Pair, ...] = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (line.split("=") for line in english.OPPOSITES.strip().splitlines())
)
_OPEN, _CLOSED = (frozenset().union(*(pair[side] for pair in _PAIRS[:2])) for side in (0, 1))
"""Words for a state that begins or lasts, and that ends: the first two lines."""
_EXCEPT = re.compile(r"(?<=\w )(?:except(?: for)?|excluding|rather than|instead of)\b", re.IGNORECASE)
_NO_NEGATION = re.compile(r"\bno(?=\.? ?\d)|(?<=\bif )not\b|\bclose(?= (?:to|by)\b)", re.IGNORECASE)
"""Words that are none here: "no. 5", "if not", and "close to" for "near"."""
_LIMITING = frozenset("than over under before after beyond except besides above below".split())  # noqa: SIM905
_MORE = frozenset("more less above below exceed exceeds far forget hesitate fail mind matter".split())  # noqa: SIM905
"""Behind "not" these leave the rest of the clause affirmed: "not more than 30 kg", "don't forget the key"."""
_AVOIDING = frozenset(
    """allergic avoid avoids bad banned dangerous dislike dislikes except forbidden harmful hate hates illegal lack
    lacks miss missing poison poisonous prohibited refuse refuses toxic unsafe without wrong""".split()  # noqa: SIM905
)
"""Words of a question for something that is not so, or should not be."""
_NEGATIONS = frozenset(english.NEGATIONS.split())
_HOW = re.compile(r"\bhow old\b|\blast(?=\W*$)", re.IGNORECASE)
"""Words of the pairs in another sense: "how old is it", "how long does it last"."""
_WHEN = r"\b(?:when|what time|how early|how late)\b[^.?!]*"
_DOES = r"\b(?:does|do|did|will|can|would)\b[^.?!]*"
_BEGINS = re.compile(rf"{_WHEN}(?:\b(?:opens|starts|begins)\b|{_DOES}\b(?:open|start|begin)\b)", re.IGNORECASE)
_ENDS = re.compile(
    rf"{_WHEN}(?:\b(?:closes|shuts|ends|finishes|stops)\b|{_DOES}\b(?:close|shut|end|finish|stop)\b)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class FewAsked:
    """The parts of a question that evidence for a short answer may contradict."""

    keys: frozenset[str]
    meanings: frozenset[str]
    denied: bool
    """Whether it says "not" or the like itself."""
    avoiding: bool
    """Whether it asks for something that is not so, or should not be, in other words."""
    end: bool | None
    """Whether it asks when something ends (or, False, begins); None: neither."""


@dataclass(frozen=True, slots=True)
class Part:
    """A clause of the evidence, with what it takes from the one before it."""

    contents: tuple[Content, ...]
    keys: frozenset[str]
    """Its words, as of `Word.key`, and prepositions."""
    denied: bool
    """Whether it is an item of a list that is negated."""
    unsure: bool
    """Whether it goes on a clause that is negated, and may be negated or not: "it is not open until nine"."""

    def negated(self, content: Content) -> bool:
        """Whether it says that something is not so."""
        return self.denied or content.negated or content.link == "instead"

    def limited(self, content: Content) -> bool:
        """Whether a negation says only up to where something is so: "not more than 30 kg"."""
        before = takewhile(lambda other: other.word.start <= content.word.start, self.contents)
        return any(other.link in _LIMITING or other.word.key in _MORE for other in before if other.negated)


def asks(question: str, answer: str) -> FewAsked | None:
    """Parts of a question; None where there is none, or where the answer is a statement of its own."""
    said = clauses(answer)
    negated = any(content.negated for clause in said for content in clause.contents)
    if not (said and question.strip()) or negated or any(clause.verb is not None for clause in said):
        return None
    plain = _HOW.sub("", _plain(question))
    keys = frozenset(word.key for word in words(plain))
    answered = frozenset(word.key for word in words(answer))
    return FewAsked(
        keys - answered,
        frozenset(content.meaning for clause in clauses(question) for content in clause.stating),
        any(key in _NEGATIONS or key.endswith("n't") for key in keys),
        not _AVOIDING.isdisjoint(keys),
        False if _BEGINS.search(plain) else True if _ENDS.search(plain) else None,
    )


def parts(sentence: str) -> list[Part]:
    """The clauses of a sentence of the evidence."""
    read: list[Part] = []
    for clause in clauses(_plain(sentence)):
        keys = frozenset(key for content in clause.contents for key in (content.word.key, content.link))
        item = bool(read) and _is_item(clause, read[-1].keys) and _denies(read[-1])
        goes_on = bool(read) and clause.verb is None and not clause.relative and not _ranges(clause.contents)
        unsure = goes_on and not item and any(map(read[-1].negated, read[-1].contents))
        if goes_on and not unsure:
            keys |= {key for pair in _PAIRS for key in _inherited(pair, keys, read[-1].keys)}
        read.append(Part(clause.contents, keys, item, unsure))
    return read


def contradicts(sentence: Sequence[Part], few: frozenset[str], asked: FewAsked) -> bool:
    """Whether every clause of a sentence that has a short answer's words contradicts the question.

    Args:
        sentence: of the evidence.
        few: meanings of the answer's words.
        asked: the question.
    """
    counts = [len({content.meaning for content in part.contents} & few) for part in sentence]
    most = max(counts, default=0)
    having = [part for part, count in zip(sentence, counts, strict=True) if count == most]
    return most > 0 and all(_contrary(part, few, asked) for part in having)


def _plain(text: str) -> str:
    """A text with its exceptions as negations, in the same places."""
    plain = _NO_NEGATION.sub(lambda match: "nr" if match[0].casefold() == "no" else "", text)
    excepted = _EXCEPT.search(plain)
    before = clauses(plain[: excepted.start()]) if excepted else ()
    if any(content.negated for clause in before for content in clause.contents):
        return plain  # "none except Ana" is Ana
    return _EXCEPT.sub(lambda match: ", not".ljust(len(match[0])), plain)


def _inherited(pair: _Pair, own: frozenset[str], before: frozenset[str]) -> frozenset[str]:
    """Words of a pair that a clause takes from the one before it: "closed on Mondays, on Tuesdays"."""
    both = pair[0] | pair[1]
    return before & both if own.isdisjoint(both) else frozenset()


def _is_item(clause: Clause, before: frozenset[str]) -> bool:
    """Whether it is the next item of a list: one phrase without a verb, bound as before, and not behind "but"."""
    first, *rest = clause.contents
    if clause.verb is not None or clause.relative or clause.contrasted or (first.link and first.link not in before):
        return False
    plain = all(content.follows and not content.meaning[0].isdigit() for content in rest)
    return plain and not (rest and verbal(first))


def _denies(part: Part) -> bool:
    last = part.contents[-1]
    return part.negated(last) and not part.limited(last)


def _contrary(part: Part, few: frozenset[str], asked: FewAsked) -> bool:
    held = [content for content in part.contents if content.meaning in few]
    limited = any(map(part.limited, held))
    denied = {content.word.key for content in part.contents if part.negated(content) and not limited}
    if asked.end is not None and not any(map(part.negated, part.contents)):
        return not part.unsure and _other_end(part, held, end=asked.end)
    negated = any(content.word.key in denied for content in held)
    related = False
    for pair in _PAIRS:
        here, there = _side(pair, part.keys), _side(pair, asked.keys)
        if here is None or there is None:
            continue
        if (here != there) ^ (negated or not denied.isdisjoint(pair[here])) ^ asked.denied:
            return True
        related = True
    if related or asked.denied:
        return False
    if asked.avoiding:
        return not denied.isdisjoint(_AVOIDING)
    return negated or any(content.meaning in asked.meanings and content.word.key in denied for content in part.contents)


def _side(pair: _Pair, keys: frozenset[str]) -> int | None:
    """Which side of a pair words have; None: neither, or both."""
    sides = [not side.isdisjoint(keys) for side in pair]
    return None if sides[0] == sides[1] else sides.index(True)


def _other_end(part: Part, held: Sequence[Content], *, end: bool) -> bool:
    """Whether times are when something begins, of a question when it ends, or the other way round."""
    behind = {_until(part.contents, content) for content in held}
    if len(behind) != 1:
        return False
    (until,) = behind
    opened, closed = not part.keys.isdisjoint(_OPEN), not part.keys.isdisjoint(_CLOSED)
    if opened == closed:
        return until is not None and until is not end
    return (bool(until) is closed) is end


def _until(contents: Sequence[Content], content: Content) -> bool | None:
    """Whether a word stands behind "until" (or, False, "from"); None: neither."""
    at = contents.index(content)
    while at and contents[at].follows and not contents[at].link:
        at -= 1
    if contents[at].link == "to":
        return True
    return False if contents[at].link == "from" or _opens_range(contents, at) else None


def _ranges(contents: Sequence[Content]) -> bool:
    return any(_opens_range(contents, at) for at in range(len(contents)))


def _opens_range(contents: Sequence[Content], at: int) -> bool:
    """Whether a number is the first of a range: "9 to 5", "9 am to 5 pm"."""
    following = next((other for other in contents[at + 1 :] if other.link or not other.follows), None)
    return contents[at].meaning[0].isdigit() and following is not None and following.link == "to"
