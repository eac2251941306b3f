"""Questions with the sentences that a reranker weighs for each, as the server puts them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_lab.answering.notes import OwnNote

WHOLE = 0.1
"""Share of the questions that are shown the whole note as a passage, too: rerankers are given longer ones."""
WITHOUT = 0.15
"""Share of the answered questions whose answers are taken out of the note, which leaves them open then."""


@dataclass(frozen=True, slots=True)
class QuestionCandidates:
    """A question with sentences, some of which may answer it."""

    question: str
    passages: tuple[str, ...]
    """Each "<title>: <sentence>"."""
    answers: frozenset[int]
    """Places of those that answer; none: the question is left open."""
    whole: str = ""
    """The note that they are of, as one passage."""


def candidates_of(notes: Sequence[OwnNote]) -> list[QuestionCandidates]:
    """Every question with all sentences of its note."""
    return [
        QuestionCandidates(
            question.text,
            tuple(f"{note.title}: {text}" for text in note.sentences),
            frozenset(place for run in question.answers for place in run),
            f"{note.title}: {' '.join(note.sentences)}",
        )
        for note in notes
        for question in note.questions
    ]


def some_open(some: Sequence[QuestionCandidates], rng: random.Random) -> list[QuestionCandidates]:
    """All of them; a few that were answered without the sentences that answer, where others are left."""
    return [
        _without_answers(each) if len(each.answers) < len(each.passages) and rng.random() < WITHOUT else each
        for each in some
    ]


def _without_answers(each: QuestionCandidates) -> QuestionCandidates:
    left = tuple(passage for place, passage in enumerate(each.passages) if place not in each.answers)
    return QuestionCandidates(each.question, left, frozenset())


def with_more(some: Sequence[QuestionCandidates], others: int, rng: random.Random) -> list[QuestionCandidates]:
    """Each question with more passages behind its note's sentences: at times the whole note, and some of other notes.

    Args:
        some: questions with the sentences of their notes.
        others: how many sentences of other notes are added, none of which answers.
        rng: draws them.
    """
    every = [passage for passages in {each.passages: None for each in some} for passage in passages]
    return [_with_more(each, every, others, rng) for each in some]


def _with_more(each: QuestionCandidates, every: Sequence[str], others: int, rng: random.Random) -> QuestionCandidates:
    whole = [each.whole] if each.whole and rng.random() < WHOLE else []
    own = {*each.passages, *whole}
    drawn = rng.sample(every, min(len(every), others + len(own)))
    more = [*whole, *[passage for passage in drawn if passage not in own][:others]]
    answers = each.answers | {len(each.passages)} if whole and each.answers else each.answers
    return QuestionCandidates(each.question, (*each.passages, *more), answers)
