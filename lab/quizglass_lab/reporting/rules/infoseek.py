"""InfoSeek: relaxed accuracy of its two parts, of each kind of answer, and over both parts.

The published script (edchengg/infoseek_eval) scores unseen questions and unseen entities apart, each in all and by
kind of answer (time, numerical, string), and ends with the harmonic mean of both. CoRe-MMRAG's "All" is their plain
mean. Both are here; `relaxed` without a part is the mean over all questions, which leans to the larger part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured, mean
from quizglass_lab.scoring.intervals import interval_of

ALL, HARMONIC = "relaxed, all", "relaxed, harmonic mean"
_PARTS = {"unseen questions": "unseen_question", "unseen entities": "unseen_entity"}
_BOTH = "questions of both InfoSeek's parts, val_unseen_question and val_unseen_entity"
NEEDS = {"relaxed": "InfoSeek's answers, or any with a range", ALL: _BOTH, HARMONIC: _BOTH}


def figures(runs: Runs) -> list[Measured]:
    """Of every system both parts, their kinds of answer, the plain mean of both parts and the harmonic one."""
    return [figure for row, judged in runs.items() for figure in _of_one(row, judged)]


def _of_one(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    parts = {part: _of_part(judged, end) for part, end in _PARTS.items()}
    for part, answers in parts.items():
        yield from _kinds(row, part, answers)
    groups = [[[each.scores["relaxed"]] for each in answers] for answers in parts.values()]
    if all(groups):
        count = sum(map(len, groups))
        values = [np.array([np.mean(group)]) for group in groups]
        for metric, combine in ((ALL, _plain), (HARMONIC, _harmonic)):
            low, high = interval_of(combine, *groups)
            value = float(combine(*values)[0])
            yield Measured(row, metric, 100 * value, count, 100 * low, 100 * high)


def _of_part(judged: Sequence[ScoredAnswer], end: str) -> list[ScoredAnswer]:
    return [
        each
        for each in judged
        if each.sample.dataset == "infoseek" and each.sample.split.endswith(end) and "relaxed" in each.scores
    ]


def _kinds(row: str, part: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    if judged:
        yield mean(row, "relaxed", [each.scores["relaxed"] for each in judged], part=part)
    for kind in sorted({each.sample.answer_type for each in judged} - {""}):
        scores = [each.scores["relaxed"] for each in judged if each.sample.answer_type == kind]
        yield mean(row, "relaxed", scores, part=f"{part}, {kind}")


def _plain(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    return (one + two) / 2


def _harmonic(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    both = one + two
    return np.divide(2 * one * two, both, out=np.zeros_like(both), where=both > 0)
