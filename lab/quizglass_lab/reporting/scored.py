"""One system's answers to a benchmark, scored: every measure's mean, conversations, costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import harmonic_mean

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.report import CIDER, SPLITS_TOGETHER, Measured, measured
from quizglass_lab.reporting.sample_scores import Answered, Scorers, is_right, sample_scores
from quizglass_lab.scoring.answers import conversation_truthfulness
from quizglass_lab.scoring.benchmarks.cider import cider_d

_Turn = tuple[Sample, Answered, dict[str, float]]


def scored(row: str, samples: Sequence[Sample], answers: Sequence[Answered], scorers: Scorers) -> list[Measured]:
    """The figures of one system's answers: means of every metric, conversations, and costs.

    Args:
        row: its name.
        samples: the questions; those of one conversation in their order, whatever stands between them.
        answers: one for each question, in order.
        scorers: what judges them beside their words.
    """
    scores = [sample_scores(sample, each, scorers) for sample, each in zip(samples, answers, strict=True)]
    turns = list(zip(samples, answers, scores, strict=True))
    whole = [{"truthfulness of conversations": each} for each in _conversations(turns)]
    costs = [each.cost for each in answers]
    return [*measured(row, scores, costs), *measured(row, whole), *_captions(row, turns), *_unseen(row, turns)]


def benchmark_of(samples: Sequence[Sample], name: str) -> str:
    """The benchmark that questions are of: as they say themselves, where all say the same, else `name`."""
    said = {sample.dataset for sample in samples}
    return said.pop() or name if len(said) == 1 else name


def _conversations(turns: Sequence[_Turn]) -> Iterator[float]:
    """Truthfulness of each conversation that can be judged: not of one with a private answer."""
    sessions: dict[str, list[_Turn]] = {}
    for turn in turns:
        if turn[0].session:
            sessions.setdefault(turn[0].session, []).append(turn)
    for of_one in sessions.values():
        if all("truthfulness" in scores for *_, scores in of_one):
            yield conversation_truthfulness(_outcome(*turn) for turn in of_one)


def _captions(row: str, turns: Sequence[_Turn]) -> list[Measured]:
    """CIDEr-D of captions, which is of all pictures together and needs two at least."""
    told = [(each, answered) for each, answered, _ in turns if each.answer_type == "caption" and each.answers]
    if len(told) < 2:
        return []
    values = cider_d([answered.answer for _, answered in told], [sample.answers for sample, _ in told])
    return measured(row, [{CIDER: value} for value in values])


def _unseen(row: str, turns: Sequence[_Turn]) -> list[Measured]:
    """Of InfoSeek its two parts, and what its script calls the final score: their harmonic mean."""
    parts = [
        measured(row, [{f"relaxed, unseen {what}": scores["relaxed"]} for scores in _of_split(turns, end)])
        for what, end in (("questions", "unseen_question"), ("entities", "unseen_entity"))
    ]
    if not all(parts):
        return []
    (questions,), (entities,) = parts
    together = harmonic_mean([questions.value, entities.value])
    return [questions, entities, Measured(row, SPLITS_TOGETHER, together, questions.count + entities.count)]


def _of_split(turns: Sequence[_Turn], end: str) -> Iterator[dict[str, float]]:
    for sample, _, scores in turns:
        if sample.dataset == "infoseek" and sample.split.endswith(end) and "relaxed" in scores:
            yield scores


def _outcome(sample: Sample, answered: Answered, scores: dict[str, float]) -> tuple[bool, bool]:
    """Whether a turn is right, and whether it refuses."""
    return (is_right(scores) if sample.answerable else answered.refuses), answered.refuses
