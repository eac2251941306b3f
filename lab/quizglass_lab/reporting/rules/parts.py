"""Benchmarks by the parts that their own papers report: kinds of question, levels, areas, scenarios.

CRAG-MM, InfoSeek, Encyclopedic-VQA and CogBench, of which the policies' papers have tables, have modules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured, mean

NEEDS: dict[str, str] = {}
"""None of its own: its metrics are those of all questions."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """How a benchmark is taken apart."""

    metrics: tuple[str, ...]
    """What it is scored by, the first that answers have."""
    fields: tuple[tuple[str, str], ...]
    """Fields of a sample, and what the benchmark calls them."""


_PARTS = {
    "livevqa": _Parts(("accuracy",), (("split", "part"), ("category", "level"))),
    "mmsearch": _Parts(("f1",), (("category", "area"),)),
    "mrag-bench": _Parts(("multiple choice",), (("domain", "aspect"), ("category", "scenario"))),
    "ok-vqa": _Parts(("vqa",), (("category", "category"),)),
    "visual7w": _Parts(("multiple choice",), (("category", "question type"),)),
    "vqav2": _Parts(("vqa",), (("answer_type", "answer type"),)),
}


def figures(runs: Runs) -> list[Measured]:
    """Of every system the benchmark's score in each of its parts, where there are two at least."""
    return [figure for row, judged in runs.items() for figure in _of_row(row, judged)]


def _of_row(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    for dataset, parts in _PARTS.items():
        of_set = [each for each in judged if each.sample.dataset == dataset]
        metric = next((name for name in parts.metrics if any(name in each.scores for each in of_set)), "")
        for field, called in parts.fields if metric else ():
            values: dict[str, list[float]] = {}
            for each in of_set:
                if metric in each.scores and (label := getattr(each.sample, field)):
                    values.setdefault(label, []).append(each.scores[metric])
            for label, scores in sorted(values.items()) if len(values) > 1 else ():
                yield mean(row, metric, scores, part=f"{called}: {label}")
