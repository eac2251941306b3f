"""Answers in words that stand in the picture: which lines of a sign, label or screen answer the question.

A line alone says little ("Mondays closed"), so each is weighed with a heading, and so are two and three lines that
follow each other: with all of the words where they are few, for then they are quoted together; with the first line
where the right piece has to be chosen. How likely such a piece answers, the reranker puts too low: it learned from
sentences of notes. The odds here make up for it. They were chosen on the questions of `bench/own/signs.toml` and
`bench/own/signs-dev.toml`, and docs/benchmarks/own.md has what they do to others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.asked_kind import says_asked
from quizglass_server.steps.language.intents import Intent, intent_of
from quizglass_server.steps.quoting import MOST_SENTENCES, NoteSentence, likelier
from quizglass_server.steps.read import are_few, may_ask_for_words

MOST_TOGETHER = 3
"""Lines that are weighed as one piece."""
_LIKELIER, _IF_ASKED = 5.0, 30.0
"""Odds of a piece; the second where the question seems to be about printed words, or asks which of a kind it is."""
_HAS_ASKED, _HAS_PRICE = 4.0, 8.0
"""Further odds of one with a name, time or place where that is asked for, and with an amount where a price is."""
_PRICE = re.compile(r"\b(?:how much|prices?|costs?|expensive|cheap|pay|charges?)\b", re.IGNORECASE)
_AMOUNT = re.compile(r"\d[.,]\d\d\b|\bfree\b", re.IGNORECASE)


def pieces_of(read: Evidence, lines: Sequence[str]) -> list[NoteSentence]:
    """What may answer: each line, and lines that follow each other; shorter pieces first, at most `MOST_SENTENCES`.

    Args:
        read: the words as evidence.
        lines: the same, line by line.
    """
    few = are_few(read.text)
    return [
        NoteSentence(
            read,
            " ".join(lines[begin : begin + size]),
            begin,
            heading=read.text if few else lines[0] if begin else "",
        )
        for size in range(1, MOST_TOGETHER + 1)
        for begin in range(len(lines) - size + 1)
    ][:MOST_SENTENCES]


def best_piece(question: str, pieces: Sequence[NoteSentence], scores: Sequence[float]) -> NoteSentence | None:
    """The piece that answers likeliest, with its score as it is held against the bundle's `quote_accept`.

    Args:
        question: as asked.
        pieces: what was weighed.
        scores: of each, by the reranker.

    Returns:
        None where there are none. Of equal ones the first, which is the shortest.
    """
    asked = may_ask_for_words(question) or intent_of(question) in (Intent.KIND, Intent.WHICH)
    odds = _IF_ASKED if asked else _LIKELIER
    raised = [
        replace(piece, score=likelier(score, odds * _by_kind(question, piece.text)))
        for piece, score in zip(pieces, scores, strict=True)
    ]
    return max(raised, key=lambda piece: piece.score, default=None)


def _by_kind(question: str, text: str) -> float:
    """Further odds of a piece with what is asked for by its kind."""
    if _PRICE.search(question) and _AMOUNT.search(text):
        return _HAS_PRICE
    return _HAS_ASKED if says_asked(question, text) else 1.0


def quoted_piece(piece: NoteSentence) -> NoteSentence:
    """A piece as it is quoted: all of the words where they are few."""
    return NoteSentence(piece.evidence, piece.evidence.text, 0) if are_few(piece.evidence.text) else piece
