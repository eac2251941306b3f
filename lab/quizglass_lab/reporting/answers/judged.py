"""Answers with their questions and scores: what every paper's rule makes its table of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered
from quizglass_lab.reporting.answers.sample_scores import Scorers, is_right, sample_scores

_BY_RULES = "claims are sentences, matched by their words; --claims has a model compare them"


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One answer, its question, and its scores by metric."""

    sample: Sample
    answered: Answered
    scores: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    """By metric how it was scored, where that is not as papers do."""

    @property
    def decided(self) -> bool:
        """Whether anything says if it is right; not of captions and private answers."""
        return "truthfulness" in self.scores

    @property
    def right(self) -> bool:
        """Whether it is right; where nothing answers the question, a refusal is."""
        return is_right(self.scores) if self.sample.answerable else self.answered.refuses


Runs = Mapping[str, Sequence[ScoredAnswer]]
"""The judged answers of each system, by the name of its row; every system answered the same questions."""


def judge_all(
    samples: Sequence[Sample], answers: Sequence[Answered], scorers: Scorers | None = None
) -> list[ScoredAnswer]:
    """Each answer with its question, scored.

    Args:
        samples: the questions; those of one conversation in their order, whatever stands between them.
        answers: one for each question, in order.
        scorers: what judges them beside their words; None: nothing does.
    """
    scorers = scorers or Scorers()
    notes = {} if scorers.claims else dict.fromkeys(("claim precision", "claim recall"), _BY_RULES)
    return [
        ScoredAnswer(sample, answered, sample_scores(sample, answered, scorers), notes)
        for sample, answered in zip(samples, answers, strict=True)
    ]


def benchmark_of(samples: Sequence[Sample], name: str) -> str:
    """The benchmark that questions are of: as they say themselves, where all say the same, else `name`."""
    said = {sample.dataset for sample in samples}
    return said.pop() or name if len(said) == 1 else name
