"""Whether a sentence states what a clause states: all of its words, in the same polarity, and in the same parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from quizglass_server.steps import english
from quizglass_server.steps.statements import Clause, Content

_MEASURES = frozenset(english.MEASURES.split())


def entails(evidence: Sequence[Clause], clause: Clause, title: Sequence[Content]) -> bool:
    """Whether one sentence of the evidence states all that a clause of an answer states.

    Args:
        evidence: the clauses of the sentence.
        clause: of the answer.
        title: content words of what the evidence is about, which a sentence that says "it" leaves out.
    """
    return any(_within(readable, clause, title) for readable in _readable(evidence))


def _readable(evidence: Sequence[Clause]) -> list[list[Clause]]:
    """Each clause with those before it that it needs: one with a subject of its own stands alone."""
    groups: list[list[Clause]] = []
    before: list[Clause] = []
    for clause in evidence:
        repeats = before and {content.meaning for content in clause.contents} & _meanings(before[-1])
        groups.append([clause] if clause.own_subject or (repeats and not clause.relative) else [*before, clause])
        if not clause.relative:
            before = groups[-1]
    return groups


def _within(evidence: Sequence[Clause], clause: Clause, title: Sequence[Content]) -> bool:
    said = [content for part in evidence for content in part.contents]
    about = {content.meaning for content in title}
    own = {content.meaning for content in said}
    for at, content in enumerate(clause.contents):
        if _is_measure(at, clause.contents, said):
            continue
        same = [other for other in said if other.meaning == content.meaning]
        if not same and content.meaning in about:
            continue
        if not any(other.negated == content.negated and not _differ(other.role, content.role) for other in same):
            return False
    wanted = {content.meaning for content in clause.contents}
    positive = {content.meaning for content in said if not content.negated}
    denied = any(content.negated and content.meaning in wanted - positive for content in said)
    if denied != any(content.negated for content in clause.contents):
        return False
    if any(_taken_apart(one, other, said, title) for one, other in _neighbours(clause.contents)):
        return False
    return not (_scattered(evidence, clause, about) or _turned_round(evidence, clause, about - own))


def _is_measure(at: int, contents: Sequence[Content], said: Sequence[Content]) -> bool:
    """Whether a word says what a number is of ("330 metres tall") and the evidence does not say otherwise."""
    content = contents[at]
    if content.meaning not in _MEASURES or at < 2 or not (content.follows and contents[at - 2].meaning[0].isdigit()):
        return False
    number, unit = contents[at - 2].meaning, contents[at - 1].meaning
    behind = [
        third.meaning
        for first, second, third in zip(said, said[1:], said[2:], strict=False)
        if (first.meaning, second.meaning) == (number, unit)
    ]
    return not any(other in _MEASURES for other in behind)


def _differ(one: str, other: str) -> bool:
    """Whether two words for parts contradict each other; "by" and nothing may be the passive and the active."""
    return one != other and bool((one and other) or "than" in (one, other))


def _neighbours(contents: Sequence[Content]) -> list[tuple[Content, Content]]:
    return [(one, other) for one, other in pairwise(contents) if other.follows]


def _taken_apart(one: Content, other: Content, said: Sequence[Content], title: Sequence[Content]) -> bool:
    """Whether two words that the answer joins go with other words in the evidence: its "blue car" and "red roof".

    Only where each is joined to another word there, and never both to each other. Two names belong together always, an
    adverb to nothing.
    """
    pairs = [(a.meaning, b.meaning) for contents in (said, title) for a, b in _neighbours(contents)]
    if (one.meaning, other.meaning) in pairs or one.word.key.endswith("ly"):
        return False
    if (other.meaning, one.meaning) in pairs and (one.meaning + other.meaning)[0].isdigit() != other.meaning[
        0
    ].isdigit():
        return False  # "15 February" and "February 15"
    if _is_name(one) and _is_name(other):
        return True
    return any(a == one.meaning for a, _ in pairs) and any(b == other.meaning for _, b in pairs)


def _is_name(content: Content) -> bool:
    return content.word.named and not content.meaning[0].isdigit()


def _homes(evidence: Sequence[Clause]) -> list[set[str]]:
    """What belongs together: a clause, with the one that it continues ("and white", "which is red")."""
    homes: list[set[str]] = []
    for part in evidence:
        own = _meanings(part)
        homes.append(own | homes[-1] if homes and part.continues else own)
    return homes


def _scattered(evidence: Sequence[Clause], clause: Clause, about: set[str]) -> bool:
    """Whether a word with a part to play ("than Mars", "in 1969") stands apart from the word that it goes with.

    "It first flew in 1969 and was retired in 2003" does not say that it first flew in 2003.
    """
    homes = _homes(evidence)
    for one, other in pairwise(clause.contents):
        if one.meaning in about or one.meaning[0].isdigit() or not other.bound:
            continue
        whole = [_meanings(part) for part in evidence] if other.meaning[0].isdigit() else homes
        if not any(one.meaning in home and (other.meaning in home or other.meaning in about) for home in whole):
            return True
    return False


def _turned_round(evidence: Sequence[Clause], clause: Clause, titled: set[str]) -> bool:
    """Whether what stands before and after a word in the answer stands after and before it in the evidence.

    "The cat chased the dog" is not "the dog chased the cat"; in the passive, or with "by" in one of the two, it may be.
    """
    if _has_by(evidence) != _has_by([clause]):
        return False
    said = {content.meaning: content for part in evidence for content in part.contents}
    pronouns = [start for part in evidence for start in part.pronouns]
    for at, pivot in enumerate(clause.contents):
        here = said.get(pivot.meaning)
        if here is None or _is_name(pivot):
            continue
        than = (content for content in clause.contents[at + 1 :] if content.role == "than" and content.meaning in said)
        if any(said[content.meaning].word.start < here.word.start for content in than):
            return True
        if here.passive != pivot.passive:
            continue
        before = [_places(content, said, titled, pronouns) for content in clause.contents[:at]]
        after = [_places(content, said, titled, pronouns) for content in clause.contents[at + 1 :]]
        start = here.word.start
        crossed = any(places and max(places) < start for places in after)
        if crossed and any(places and min(places) > start for places in before):
            return True
    return False


def _places(content: Content, said: Mapping[str, Content], titled: set[str], pronouns: Sequence[int]) -> list[int]:
    """Where the evidence says a word; of what it is about, where it says "it"."""
    if content.meaning in said:
        return [said[content.meaning].word.start]
    return list(pronouns) if content.meaning in titled else []


def _meanings(clause: Clause) -> set[str]:
    return {content.meaning for content in clause.contents}


def _has_by(clauses: Sequence[Clause]) -> bool:
    return any(content.role == "by" for clause in clauses for content in clause.contents)
