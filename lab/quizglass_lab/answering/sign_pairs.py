"""Questions about signs with the pieces of their words that a reranker weighs for each, as the server puts them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from quizglass.values import Origin
from quizglass_lab.answering.notes import NoteQuestion, OwnNote
from quizglass_lab.answering.pairs import WITHOUT, QuestionCandidates
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.printed import parts_of, pieces_of

BESIDE = 6
"""Most pieces that do not answer, which a question is shown while it is learned from: long signs have 21 and more."""


def sign_candidates(signs: Sequence[OwnNote]) -> list[QuestionCandidates]:
    """Every question with all pieces of its sign; those answer that have all lines of an answer, best the shortest."""
    return [_candidates(question, sign.sentences) for sign in signs for question in sign.questions]


def drawn_sign_candidates(signs: Sequence[OwnNote], rng: random.Random) -> list[QuestionCandidates]:
    """The same to learn from: with a few of the other pieces each, and now and then without the lines that answer."""
    return [_drawn(question, sign.sentences, rng) for sign in signs for question in sign.questions]


def _drawn(question: NoteQuestion, lines: Sequence[str], rng: random.Random) -> QuestionCandidates:
    answering = {place for run in question.answers for place in run}
    left = [line for place, line in enumerate(lines) if place not in answering]
    if answering and left and rng.random() < WITHOUT:
        question, lines = NoteQuestion(question.text, ()), left
    every = _candidates(question, lines)
    others = [place for place in range(len(every.passages)) if place not in every.answers]
    kept = sorted({*every.answers, *rng.sample(others, min(BESIDE, len(others)))})
    places = {of: place for place, of in enumerate(kept)}
    return replace(
        every,
        passages=tuple(every.passages[place] for place in kept),
        answers=frozenset(places[of] for of in every.answers),
        closest=frozenset(places[of] for of in every.closest),
    )


def _candidates(question: NoteQuestion, lines: Sequence[str]) -> QuestionCandidates:
    read = Evidence("", Origin.READ_TEXT, "", "", " ".join(lines))
    parts = parts_of(lines)
    having = [[at for at, part in enumerate(parts) if _has(part, run)] for run in question.answers]
    least = [min((len(parts[at]) for at in places), default=0) for places in having]
    closest = (at for places, size in zip(having, least, strict=True) for at in places if len(parts[at]) == size)
    return QuestionCandidates(
        question.text,
        tuple(piece.titled for piece in pieces_of(read, lines)),
        frozenset(chain(*having)),
        closest=frozenset(closest),
    )


def _has(part: range, run: range) -> bool:
    return part.start <= run.start and run.stop <= part.stop
