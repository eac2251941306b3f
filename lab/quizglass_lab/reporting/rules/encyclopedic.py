"""Encyclopedic-VQA: its score by type of question, and of all with one hop together, as papers on it report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured, mean

SINGLE_HOP = "single-hop"
_TWO_HOPS = "2_hop"
_METRICS = ("exact", "bem")
NEEDS = {"exact": "Encyclopedic-VQA's answers", "bem": "Encyclopedic-VQA's answers, and a folder with BEM (--bem)"}


def figures(runs: Runs) -> list[Measured]:
    """Of every system the share of right answers by type of question."""
    return [figure for row, judged in runs.items() for figure in _of_one(row, judged)]


def _of_one(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    parts: dict[str, list[ScoredAnswer]] = {}
    for each in judged:
        if each.sample.dataset == "encyclopedic-vqa" and each.sample.answer_type:
            parts.setdefault(each.sample.answer_type, []).append(each)
            if each.sample.answer_type != _TWO_HOPS:
                parts.setdefault(SINGLE_HOP, []).append(each)
    for part, of_part in sorted(parts.items()):
        for metric in _METRICS:
            scores = [each.scores[metric] for each in of_part if metric in each.scores]
            if scores:
                yield mean(row, metric, scores, part=part)
