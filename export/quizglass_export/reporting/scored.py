"""One system's answers to a benchmark, scored: every measure's mean, conversations, costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from quizglass_export.datasets.reading.sample import Sample
from quizglass_export.reporting.report import Measured, measured
from quizglass_export.reporting.sample_scores import Answered, Scorers, is_right, sample_scores
from quizglass_export.scoring.answers import conversation_truthfulness

_Turn = tuple[Sample, Answered, dict[str, float]]


def scored(row: str, samples: Sequence[Sample], answers: Sequence[Answered], scorers: Scorers) -> list[Measured]:
    """What a system reached.

    Args:
        row: its name.
        samples: the questions; those of one conversation follow each other.
        answers: one for each question, in order.
        scorers: what judges them beside their words.
    """
    scores = [sample_scores(sample, each, scorers) for sample, each in zip(samples, answers, strict=True)]
    turns = list(zip(samples, answers, scores, strict=True))
    whole = [{"truthfulness of conversations": each} for each in _conversations(turns)]
    return [*measured(row, scores, [each.cost for each in answers if each.cost]), *measured(row, whole)]


def _conversations(turns: Sequence[_Turn]) -> Iterator[float]:
    """Truthfulness of each conversation that can be judged: of one with a private answer nobody can say."""
    for session, group in groupby(turns, lambda turn: turn[0].session):
        of_one = list(group)
        if session and all("truthfulness" in scores for *_, scores in of_one):
            yield conversation_truthfulness(_outcome(*turn) for turn in of_one)


def _outcome(sample: Sample, answered: Answered, scores: dict[str, float]) -> tuple[bool, bool]:
    """Whether a turn is right, and whether it refuses."""
    return (is_right(scores) if sample.answerable else answered.refuses), answered.refuses
