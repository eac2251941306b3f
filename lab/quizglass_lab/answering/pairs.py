"""Questions with the sentences that a reranker weighs for each, as the server puts them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quizglass_lab.answering.notes import OwnNote
from quizglass_server.steps.language.wording import shares_part

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
    closest: frozenset[int] = frozenset()
    """Places of answers with nothing to spare, which are to be chosen; none: all answers are."""
    named: bool = False
    """Whether the question has a word of its note's title, so that no other note answers it."""

    @property
    def wanted(self) -> frozenset[int]:
        """Places of the answers that are to be chosen."""
        return self.closest or self.answers


def candidates_of(notes: Sequence[OwnNote]) -> list[QuestionCandidates]:
    """Every question with all sentences of its note."""
    return [
        QuestionCandidates(
            question.text,
            tuple(f"{note.title}: {text}" for text in note.sentences),
            frozenset(place for run in question.answers for place in run),
            f"{note.title}: {' '.join(note.sentences)}",
            named=shares_part(question.text, note.title),
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
    return replace(each, passages=left, answers=frozenset(), closest=frozenset(), whole="")


def with_more(some: Sequence[QuestionCandidates], others: int, rng: random.Random) -> list[QuestionCandidates]:
    """Each question with more passages behind its note's sentences: at times the whole note, and some of other notes.

    Args:
        some: questions with the sentences of their notes.
        others: how many sentences of other notes are added to a question that names its own, none of which answers.
        rng: draws them.
    """
    every = [passage for passages in {each.passages: None for each in some} for passage in passages]
    return [_with_more(each, every, others, rng) for each in some]


def _with_more(each: QuestionCandidates, every: Sequence[str], others: int, rng: random.Random) -> QuestionCandidates:
    whole = [each.whole] if each.whole and rng.random() < WHOLE else []
    title = f"{each.passages[0].partition(': ')[0]}: "  # two people may have notes of the same title
    drawn = rng.sample(every, min(len(every), others + len(each.passages))) if each.named else []
    more = [*whole, *[passage for passage in drawn if not passage.startswith(title)][:others]]
    answers = each.answers | {len(each.passages)} if whole and each.answers else each.answers
    return replace(each, passages=(*each.passages, *more), answers=answers, whole="")
