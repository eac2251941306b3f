"""How well a reranker finds the sentence that answers, and tells where none does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quizglass_lab.answering.pairs import QuestionCandidates

LINES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Least probabilities of an answer that are compared."""


@dataclass(frozen=True, slots=True)
class WeighedQuestion:
    """A question whose sentences were weighed."""

    asked: QuestionCandidates
    scores: tuple[float, ...]
    """Of each passage, 0 to 1."""

    @property
    def best(self) -> int:
        """Place of the best passage."""
        return int(np.argmax(self.scores))

    @property
    def found(self) -> bool:
        """Whether the best passage answers."""
        return self.best in self.asked.answers


def weigh_all(
    score: Callable[[list[tuple[str, str]]], list[float]], some: Sequence[QuestionCandidates]
) -> list[WeighedQuestion]:
    """Weigh the passages of questions."""
    return [WeighedQuestion(each, tuple(score([(each.question, text) for text in each.passages]))) for each in some]


def measured(weighed: Sequence[WeighedQuestion]) -> dict[str, Any]:
    """Shares of the questions: best passage right, and by line what is answered rightly and rightly refused.

    `lines` has [line, of those that the note answers: answered rightly, of the others: refused].
    """
    told = [each for each in weighed if each.asked.answers]
    left_open = [each for each in weighed if not each.asked.answers]
    return {
        "answerable": len(told),
        "unanswerable": len(left_open),
        "best_right": _share([each.found for each in told]),
        "lines": [
            [
                line,
                _share([each.found and max(each.scores) >= line for each in told]),
                _share([max(each.scores) < line for each in left_open]),
            ]
            for line in LINES
        ],
    }


def _share(right: Sequence[bool]) -> float:
    return round(sum(right) / max(1, len(right)), 4)
