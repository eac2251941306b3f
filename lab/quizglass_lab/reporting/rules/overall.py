"""Every system over all questions: the mean of every score, captions together, and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import CIDER, Measured, mean, measured
from quizglass_lab.scoring.benchmarks.cider import cider_d

NEEDS = {
    "f1": "gold answers",
    "token accuracy": "gold answers",
    "multiple choice": "questions with wrong options",
    "vqa": "questions with the answers of several people",
    CIDER: "captions of two pictures at least",
}


def figures(runs: Runs) -> list[Measured]:
    """Means of every score and costs, system by system."""
    every = []
    for row, judged in runs.items():
        means = measured(row, [each.scores for each in judged], [each.answered.cost for each in judged])
        notes = judged[0].notes if judged else {}
        every += [replace(figure, note=notes.get(figure.metric, "")) for figure in means]
        every += _captions(row, judged)
    return every


def _captions(row: str, judged: Sequence[ScoredAnswer]) -> list[Measured]:
    """CIDEr-D of captions, which is of all pictures together and needs two at least."""
    told = [each for each in judged if each.sample.answer_type == "caption" and each.sample.answers]
    if len(told) < 2:
        return []
    values = cider_d([each.answered.answer for each in told], [each.sample.answers for each in told])
    return [mean(row, CIDER, values)]
