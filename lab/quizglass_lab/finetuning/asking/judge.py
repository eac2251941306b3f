"""Whether an answer is right: by comparing it with the gold answers, or by a model that grades it from 1 to 5."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.interface import Ask, AskedModel
from quizglass_lab.reporting.answers.sample_scores import right_by_words
from quizglass_lab.scoring.answers import exact_match
from quizglass_lab.scoring.claims import contains_words
from quizglass_lab.scoring.judge import RIGHT as RIGHT_GRADE
from quizglass_lab.scoring.judge import grade_in, scaled

logger = logging.getLogger(__name__)
RIGHT = scaled(RIGHT_GRADE)
"""Score, 0 to 100, from which an answer counts as right: a grade of 4 or 5."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A model's answer to a question, with the answers that are right."""

    question: str
    gold: tuple[str, ...]
    answer: str
    sample: Sample | None = None
    """The benchmark's record of right answers; None where the gold answers are all that is known."""

    @classmethod
    def to(cls, sample: Sample, answer: str) -> Self:
        """An answer to a benchmark's own question."""
        return cls(sample.question, sample.answers, answer, sample)


class AnswerJudge(Protocol):
    """Scores answers from 0 (wrong) to 100 (right)."""

    def scores(self, answers: Sequence[GivenAnswer]) -> list[float]:
        """The score of each answer, 0 to 100, in the order given."""
        ...


class ExactJudge:
    """100 for an answer that equals a gold answer or alias after normalisation, or that its benchmark's own rule takes
    (a number in InfoSeek's range, an answer of several of VQAv2's people, half of Encyclopedic-VQA's list); else 0.
    """

    def scores(self, answers: Sequence[GivenAnswer]) -> list[float]:
        """The score of each answer, 0 to 100, in the order given."""
        return [100.0 * self._right(each) for each in answers]

    def _right(self, given: GivenAnswer) -> bool:
        if exact_match(given.answer, given.gold[0], given.gold[1:]):
            return True
        return given.sample is not None and right_by_words(given.sample, given.answer)


class ContainsJudge:
    """100 for an answer in which all words of a gold answer stand in one sentence, else 0: for models of few words and
    many, whose gold answers are names, figures or short phrases.
    """

    def scores(self, answers: Sequence[GivenAnswer]) -> list[float]:
        """The score of each answer, 0 to 100, in the order given."""
        return [100.0 * any(contains_words(each.answer, gold) for gold in each.gold) for each in answers]


@dataclass(frozen=True, slots=True)
class GradingJudge:
    """A model's grade, (grade - 1) / 4 x 100, as the planning-agent paper scales it; equal answers need no grading.

    What the model says that is no grade counts as the lowest.
    """

    model: AskedModel

    def scores(self, answers: Sequence[GivenAnswer]) -> list[float]:
        """The score of each answer, 0 to 100, in the order given."""
        scores = ExactJudge().scores(answers)
        pairs = enumerate(zip(scores, answers, strict=True))
        open_ = [index for index, (score, each) in pairs if not score and each.answer]
        asks = [
            Ask("judge", {"question": each.question, "evidence": list(each.gold), "answer": each.answer})
            for each in (answers[index] for index in open_)
        ]
        grades = [grade_in(written.text) for written in self.model.write(asks, 8)]
        for index, grade in zip(open_, grades, strict=True):
            scores[index] = scaled(grade) if grade else 0.0
        if missing := grades.count(None):
            logger.warning("%s: %d of %d judgements were no grade from 1 to 5", self.model.name, missing, len(grades))
        return scores


def right(judge: AnswerJudge, answers: Sequence[GivenAnswer]) -> list[bool]:
    """Whether each answer counts as right."""
    return [score >= RIGHT for score in judge.scores(answers)]
