"""Answers in the words of the evidence: which of its sentences answer the question, and how they stand together.

A sentence is taken word for word, so nothing that a person wrote is lost or reworded. How well one answers is said by
the reranker (a cross-encoder reads question and sentence together), without one by the text encoder's cosine.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from quizglass.values import Citation, Origin
from quizglass_server.domain.sentence_ends import MONTH, cut
from quizglass_server.domain.turns import Evidence, StepDetail
from quizglass_server.roles.reranker import Reranker
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.steps.language.asked_kind import asks_whether, says_asked
from quizglass_server.steps.language.naming import is_about_another, may_be_about, speaks_of
from quizglass_server.steps.language.pronouns import may_point
from quizglass_server.steps.language.wording import (
    bare,
    proper_names,
    shares_name,
    shares_part,
    shares_proper_name,
    stands_in,
    words,
)
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import shortened, texts

MOST_SENTENCES = 32
"""Of all evidence, how many are weighed."""
LONGEST_ANSWER = 30
"""Words beyond which no second sentence is added: an answer is heard, not read."""
_SURE, _NEAR, _MAY = 0.9, 0.7, 0.3
"""Beside a best sentence of at least the first score, a second one is quoted from the second on: if it answers as well.
Beside one of less, from the third on: it may be the one that answers."""
_LIKELIER = 4.0
"""Odds of a sentence that answers likelier than the reranker says; chosen as the line of docs/everyday.md is."""
_POINTS_BACK = re.compile(r"\W*(?:(?:and|but|so|then|now)\W+)?(?:it|its|he|his|she|her|they|their)\b", re.IGNORECASE)
"""Begins a sentence about what the one before it names."""
_MARKS = re.compile(rf"^(?:[-*+•–]|\d{{1,2}}[.)](?!\s+{MONTH}))\s+", re.IGNORECASE)
"""Before the items of a list; "24. Dezember" is a day."""
_HAS_WORD = re.compile(r"\w")
_ENDS = (".", "!", "?", "…", ";", ":", ",", ")", '"', "”", "’", "'")


@dataclass(frozen=True, slots=True)
class NoteSentence:
    """A sentence of a piece of evidence, word for word."""

    evidence: Evidence
    text: str
    place: int
    """Which of the evidence's sentences it is, from 0."""
    score: float = 0.0
    """How well it answers, 0 to 1."""
    heading: str = ""
    """What it stands under, besides the title of its evidence, as far as it is weighed with that."""
    section: str = ""
    """The nearest heading that it stands under, where that is not the title of its evidence."""

    @property
    def titled(self) -> str:
        """As it is weighed: with the title of its subject and its heading, unless these say no more."""
        above = (each for each in (self.evidence.title, self.heading) if each and each != self.text)
        return ": ".join((*above, self.text))


def asks_in_words(question: str) -> bool:
    """Whether a question has a word at all: of "?" any sentence may score as its answer."""
    return any(word.key[0].isalpha() for word in words(question))


def sentences_of(evidence: Sequence[Evidence]) -> list[NoteSentence]:
    """The sentences of pieces of evidence, each once, in order; at most `MOST_SENTENCES`."""
    found: dict[tuple[str, str, str], NoteSentence] = {}
    for item in evidence:
        heading, said = _parted(item)
        section = _section(heading)
        for place, text in enumerate(_split(said)):
            sentence = NoteSentence(item, text, place, heading="" if place else heading, section=section)
            found.setdefault((item.entry_id, section, text), sentence)
    return list(found.values())[:MOST_SENTENCES]


def of_sections(found: Sequence[NoteSentence], question: str) -> list[NoteSentence]:
    """Sentences that may answer, by the headings that they stand under in notes about several things.

    Where a question names a section as its note does ("When was Henrik born?" of "## Henrik" in a note on contacts), no
    other section of that note answers, and each sentence of this one is weighed with its heading: beyond the first it
    does not say whom it is about.
    """
    names = {(each.evidence.entry_id, each.section) for each in found if names_section(question, each.evidence)}
    entries = {entry for entry, _ in names}
    meant = [
        each
        for each in found
        if each.evidence.entry_id not in entries or (each.evidence.entry_id, each.section) in names
    ]
    return [
        replace(each, heading=each.heading or each.section) if each.evidence.entry_id in entries else each
        for each in meant
    ]


def names_section(question: str, item: Evidence) -> bool:
    """Whether a question has the name of a passage's section: all its words, and a proper name among them."""
    section = _section(_parted(item)[0])
    return shares_name(question, section) and shares_proper_name(question, section)


def has_names(question: str, item: Evidence) -> bool:
    """Whether a passage has all proper names of a question."""
    return proper_names(question) <= {bare(word.key) for word in words(f"{item.title} {item.text}")}


def with_sections(quoted: Sequence[NoteSentence], question: str) -> list[NoteSentence]:
    """Quotes, behind the headings of their sections where these alone have what is asked for by its kind: "Who has our
    key?" is answered by "Henrik: Has our key." """
    return [
        replace(each, text=f"{each.section}: {each.text}")
        if each.section and not says_asked(question, each.text) and says_asked(question, f"of {each.section}")
        else each
        for each in quoted
    ]


def may_answer(title: str, question: str, tags: Sequence[str], *, pictured: bool, recognised: bool) -> bool:
    """Whether an entry of this title that was found by text may be quoted.

    One that the question names may, or that a classifier says the picture shows. A question that points asks about what
    the picture shows: no other entry answers it, and none any question where that is recognised. A question beside a
    picture may mean what it shows without pointing ("How much are the tickets?"), and one that points without a picture
    what was spoken of: either has to name part of the title.
    """
    if any(shares_name(text, title) for text in (question, *tags)):
        return True
    points = may_point(question)
    if recognised or (pictured and points):
        return False
    return not (pictured or points) or shares_part(question, title)


def told_elsewhere(found: Sequence[Evidence], question: str) -> list[NoteSentence]:
    """Sentences about the things that a question names which stand in notes on something else: a journal on the car.

    They are for where the thing's own note does not answer. A note that has part of the thing's name for a title is on
    another of its kind ("Company car"), and so is, unless the thing has a proper name, one with a picture of its own.
    """
    own = {item.entry_id: item.title for item in found if shares_name(question, item.title)}
    titles = [title for title in dict.fromkeys(own.values()) if speaks_of(question, title, question)]
    told = list[NoteSentence]()
    for title in titles:
        proper = shares_proper_name(question, title)
        others = [
            item
            for item in found
            if item.origin is Origin.TEXT_SEARCH
            and item.entry_id not in own
            and (proper or not item.picture)
            and (not shares_part(item.title, title) or speaks_of(item.title, title, question))
        ]
        told += _about(title, sentences_of(others), question)
    return list(dict.fromkeys(told))


def _about(title: str, found: Sequence[NoteSentence], question: str) -> Iterator[NoteSentence]:
    """Sentences that name a thing or stand under its name, and those behind them that point back at it."""
    before: tuple[Evidence, bool] | None = None
    for each in found:
        same = before is not None and before[0] is each.evidence
        named = before is not None and before[1] if same else speaks_of(each.evidence.title, title, question)
        about = (
            speaks_of(each.text, title, question)
            or (bool(each.section) and speaks_of(each.section, title, question))
            or (named and _POINTS_BACK.match(each.text) is not None)
        )
        if about:
            yield each
        before = each.evidence, about


def of_named(found: Sequence[Evidence], question: str) -> Sequence[Evidence]:
    """The passages of entries that a question names, or all where it names none of theirs."""
    return [item for item in found if shares_name(question, item.title)] or found


def quotable(
    found: Sequence[Evidence], question: str, tags: Sequence[str], *, pictured: bool, recognised: bool
) -> Sequence[Evidence]:
    """The passages found by text that may answer (`may_answer`), or stand under a heading that the question names;
    those of named entries alone if there are any.

    Without a picture, passages of an entry that has nothing of the question's subject are left out: a sentence that
    would answer it of another thing scores as high. Beside a picture of nothing known, a question that points at
    nothing may also be about a note without a picture (`_may_be_meant`).
    """
    beside = pictured and not (recognised or may_point(question))
    may = [
        item
        for item in found
        if may_answer(item.title, question, tags, pictured=pictured, recognised=recognised)
        or names_section(question, item)
        or (beside and _may_be_meant(item, found, question))
    ]
    if not pictured:
        may = [item for item in may if shares_part(question, item.title) or not _of_another(item, found, question)]
    return of_named(may, question)


def _of_another(item: Evidence, found: Sequence[Evidence], question: str) -> bool:
    """Whether a question is about something that the found passages of an entry do not name."""
    return is_about_another(question, _said_of(item, found))


def _may_be_meant(item: Evidence, found: Sequence[Evidence], question: str) -> bool:
    """Whether a question beside a picture of nothing known may be about an entry that it does not name: "What's the
    alarm code?" about a note on the house, which says one.

    One with what the question is about, and without a picture: an entry with one would have been recognised if it
    were asked about. Sources of less trust than the store, as the web is, have the words of any question.
    """
    return not item.picture and item.trust >= 1 and may_be_about(question, _said_of(item, found))


def _said_of(item: Evidence, found: Sequence[Evidence]) -> str:
    """Title and found passages of a passage's entry."""
    texts = (each.text for each in found if each.entry_id == item.entry_id)
    return "\n".join((item.title, *texts))


def rested_on(answer: str, citations: Sequence[Citation], evidence: Sequence[Evidence]) -> list[NoteSentence]:
    """The sentences behind an answer: those with the cited words among the cited evidence, else all of them.

    Nothing of an answer that rests on words in the picture or on a memory: neither is a text about something.
    """
    cited = {citation.evidence_id for citation in citations}
    resting = [item for item in evidence if item.id in cited]
    if any(item.origin not in (Origin.IMAGE_SEARCH, Origin.TEXT_SEARCH) for item in resting):
        return []
    found = sentences_of(resting)
    parts = [words(answer[citation.start : citation.end]) for citation in citations]
    return [each for each in found if any(stands_in(part, words(each.text)) for part in parts)] or found


def _untitled(text: str, title: str) -> str:
    """A passage without its entry's title, which passages under a heading begin with."""
    beginning = f"{title}:"
    while title and text.startswith(beginning) and text[len(beginning) :][:1].isspace():
        text = text[len(beginning) :].lstrip()
    return text


def _parted(item: Evidence) -> tuple[str, str]:
    """The headings that a passage begins with, and what it says under them; nothing but the latter where it has none.

    A quote is what a person wrote under a heading. The reranker reads it with the first sentence, as it learned to.
    """
    text = _untitled(item.text, item.title)
    heading, _, said = text.partition("\n")
    if heading.rstrip().endswith(":") and _HAS_WORD.search(said):
        return heading.rstrip().removesuffix(":"), said
    return "", text


def _section(headings: str) -> str:
    """The nearest of the headings that a passage begins with."""
    return headings.rpartition(": ")[2]


def _split(text: str) -> Iterator[str]:
    """Sentences without marks of lists; one that asks stands with what answers it."""
    for line in text.splitlines():
        begun = ""
        for piece in cut(_MARKS.sub("", line.strip()), semicolons=True):
            piece = piece.strip()
            if begun and not begun.endswith("?"):
                yield begun
                begun = ""
            begun = f"{begun} {piece}".strip() if _HAS_WORD.search(f"{begun}{piece}") else ""
        if begun:
            yield begun


def _told(scores: list[float] | None, question: str, found: Sequence[NoteSentence]) -> Telling:
    weighed = zip(found, scores or (), strict=False)
    inputs = *texts("question", question), *texts("sentences", str(len(found)))
    return inputs, [StepDetail("sentence", shortened(sentence.text), score) for sentence, score in weighed]


def _count(_: str, found: Sequence[NoteSentence]) -> float:
    return len(found)


@step("weigh", role="reranker", optional=True, size=_count, told=_told)
async def weigh(reranker: Reranker, question: str, found: Sequence[NoteSentence]) -> list[float]:
    """Probability that each sentence answers the question, in order."""
    return await reranker.score(question, [sentence.titled for sentence in found])


@step("weigh", role="text_encoder", optional=True, size=_count, told=_told)
async def compare(encoder: TextEncoder, question: str, found: Sequence[NoteSentence]) -> list[float]:
    """Cosine of each sentence and the question, in order; not below 0."""
    asked, said = await encoder.embed_queries([question]), await encoder.embed_passages([s.titled for s in found])
    return [max(0.0, float(np.dot(asked[0], vector))) for vector in said]


def _count_each(questions: Sequence[str], found: Sequence[NoteSentence]) -> float:
    return len(questions) * len(found)


def _told_each(scores: list[list[float]] | None, questions: Sequence[str], found: Sequence[NoteSentence]) -> Telling:
    each = zip(questions, scores or (), strict=False)
    inputs = *texts("question", *questions), *texts("sentences", str(len(found)))
    return inputs, [detail for question, some in each for detail in _told(some, question, found)[1]]


@step("weigh", role="reranker", optional=True, size=_count_each, told=_told_each)
async def weigh_each(reranker: Reranker, questions: Sequence[str], found: Sequence[NoteSentence]) -> list[list[float]]:
    """As `weigh`, for each of several questions; asked at once, so that they share batches."""
    return list(await asyncio.gather(*(weigh(reranker, question, found) for question in questions)))


@step("weigh", role="text_encoder", optional=True, size=_count_each, told=_told_each)
async def compare_each(
    encoder: TextEncoder, questions: Sequence[str], found: Sequence[NoteSentence]
) -> list[list[float]]:
    """As `compare`, for each of several questions."""
    return list(await asyncio.gather(*(compare(encoder, question, found) for question in questions)))


def raised(question: str, found: Sequence[NoteSentence], scores: Sequence[float]) -> list[float]:
    """Scores, with `_LIKELIER` times the odds where a small reranker is too strict: of sentences that have what is
    asked for by its kind (`says_asked`), and of all where it is asked whether something is so."""
    whether = asks_whether(question)
    return [
        likelier(score, _LIKELIER) if whether or says_asked(question, sentence.text) else score
        for sentence, score in zip(found, scores, strict=True)
    ]


def likelier(score: float, odds: float) -> float:
    """A probability with so many times its odds."""
    return odds * score / (1 + (odds - 1) * score)


def going_on(
    scores: list[float], alone: list[float], last: str, found: Sequence[NoteSentence], accept: float
) -> list[float]:
    """Scores for a question that goes on from an earlier one: "Who bought this? And where?".

    A sentence may answer the earlier question alone. So those count that have what the last one asks for by its kind,
    or answer that by itself; where none of them answers both, what answers the last one does.

    Args:
        scores: of each sentence, for both questions together.
        alone: for the last one by itself; empty: there was no time.
        last: that question.
        found: the sentences.
        accept: the least score of an answer.
    """
    if not alone:
        return scores
    fitting = [
        score if own >= accept or says_asked(last, sentence.text) else 0.0
        for score, own, sentence in zip(scores, alone, found, strict=True)
    ]
    return fitting if max(fitting, default=0.0) >= accept else alone


def chosen(found: Sequence[NoteSentence], scores: Sequence[float], accept: float) -> list[NoteSentence]:
    """The sentences that answer, in their own order: the best one, and another that may answer, too.

    Args:
        found: what was weighed.
        scores: of each.
        accept: the least score of an answer.

    Returns:
        One or two sentences of one entry, each with what a semicolon parts from it as far as they are short together;
        none where no score reaches `accept`.
    """
    ranked = sorted(
        (replace(sentence, score=score) for sentence, score in zip(found, scores, strict=True)),
        key=lambda sentence: sentence.score,
        reverse=True,
    )
    if not ranked or ranked[0].score < accept:
        return []
    best = ranked[0]
    least = _NEAR if best.score >= _SURE else _MAY
    beside = (
        other
        for other in ranked[1:]
        if other.score >= least
        and other.evidence.entry_id == best.evidence.entry_id
        and _words(best) + _words(other) <= LONGEST_ANSWER
    )
    return _completed([best, *islice(beside, 1)], found)


def best_of(question: str, found: Sequence[NoteSentence], scores: Sequence[float]) -> NoteSentence | None:
    """The sentence that answers likeliest, with its score as `raised` has it; None of none."""
    scored = zip(found, raised(question, found, scores), strict=True)
    return max(
        (replace(sentence, score=score) for sentence, score in scored), key=lambda best: best.score, default=None
    )


def in_order(quoted: Sequence[NoteSentence], found: Sequence[NoteSentence]) -> list[NoteSentence]:
    """Sentences in the order of the notes, each once; those that are of none behind them."""
    places = {(id(sentence.evidence), sentence.place): at for at, sentence in reversed(list(enumerate(found)))}
    taken = {(id(sentence.evidence), sentence.place): sentence for sentence in quoted}
    return [taken[key] for key in sorted(taken, key=lambda key: places.get(key, len(found)))]


def _completed(quoted: Sequence[NoteSentence], found: Sequence[NoteSentence]) -> list[NoteSentence]:
    """Sentences in their own order, those that semicolons part from others with these, if they are short together."""
    places = {(id(sentence.evidence), sentence.place): at for at, sentence in enumerate(found)}
    taken = {places[id(sentence.evidence), sentence.place]: sentence for sentence in quoted}
    more = dict(taken)
    for sentence in quoted:
        first = last = places[id(sentence.evidence), sentence.place]
        while last + 1 < len(found) and _follows(found[last], found[last + 1]):
            last += 1
        while first > 0 and _follows(found[first - 1], found[first]):
            first -= 1
        more = {at: found[at] for at in range(first, last + 1)} | more
    whole = more if sum(map(_words, more.values())) <= LONGEST_ANSWER else taken
    return [whole[at] for at in sorted(whole)]


def _follows(one: NoteSentence, other: NoteSentence) -> bool:
    """Whether a semicolon alone parts the other from the one before it."""
    return one.text.endswith(";") and other.evidence is one.evidence and other.place == one.place + 1


def beginning_of(evidence: Evidence, most: int = LONGEST_ANSWER) -> str:
    """How a passage begins: its first sentence, and the following ones as far as they have `most` words together."""
    taken: list[str] = []
    for sentence in _split(_parted(evidence)[1]):
        if taken and len(" ".join((*taken, sentence)).split()) > most:
            break
        taken.append(sentence)
    return _together(taken)


def joined(quoted: Sequence[NoteSentence]) -> str:
    """Sentences as one answer."""
    return _together([sentence.text for sentence in quoted])


def _together(texts: Sequence[str]) -> str:
    """Texts as one; a line of a list that ends in no mark is parted from the next by a semicolon."""
    return " ".join(text if text.endswith(_ENDS) else f"{text};" for text in texts).removesuffix(";")


def _words(sentence: NoteSentence) -> int:
    return len(sentence.text.split())
