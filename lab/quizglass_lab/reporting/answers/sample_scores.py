"""One answer to a benchmark's question, scored by every metric that goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered
from quizglass_lab.scoring.answers import exact_match, overlap, token_accuracy, token_f1, truthfulness
from quizglass_lab.scoring.benchmarks.choice import taken_option
from quizglass_lab.scoring.benchmarks.encyclopedic import Equivalence, encyclopedic_match, encyclopedic_score
from quizglass_lab.scoring.benchmarks.relaxed import relaxed_match
from quizglass_lab.scoring.benchmarks.vqa import vqa_accuracy
from quizglass_lab.scoring.claims import ModelClaims, claims_by_rules
from quizglass_lab.scoring.judge import RIGHT, ModelJudge, scaled
from quizglass_lab.scoring.retrieval import recall_at
from quizglass_lab.scoring.texts import rouge_l, sentence_bleu

RECALLS = (1, 5, 10)
"""Numbers of first entries that recall is measured at."""
_WORDS = {"exact": exact_match, "f1": token_f1, "token accuracy": token_accuracy, "overlap": overlap}
_DECIDING = ("judge", "bem", "relaxed", "vqa", "multiple choice", "exact")
"""Which metric says whether an answer is right: the first that there is."""


@dataclass(frozen=True, slots=True)
class Scorers:
    """What scores answers beside their words, where it is at hand: a judge, BEM, a model that takes claims apart."""

    judge: ModelJudge | None = None
    equivalent: Equivalence | None = None
    claims: ModelClaims | None = None
    """None: sentences count as claims, and are matched by their words, where a benchmark is scored by claims."""


def sample_scores(sample: Sample, answered: Answered, scorers: Scorers = Scorers()) -> dict[str, float]:
    """One answer's scores by metric, as the sample allows: 0 to 1; truthfulness -1 to 1, BLEU and judge 0 to 100.

    Private answers allow recall alone. Unanswerable questions have truthfulness alone: a refusal is right.
    """
    scores = _retrieval(sample, answered)
    if not sample.answerable:
        return scores | {"truthfulness": float(truthfulness(right=answered.refuses, refused=False))}
    if not sample.answers and sample.answer_range is None:
        return scores
    scores |= _words(sample, answered.answer) | _claims(sample, answered.answer, scorers.claims)
    if scorers.judge and sample.answers:
        grade = scorers.judge.grade(sample.question, answered.answer, sample.answers)
        scores |= {} if grade is None else {"judge": scaled(grade)}
    if scorers.equivalent and sample.dataset == "encyclopedic-vqa":
        scores["bem"] = encyclopedic_score(
            sample.question, answered.answer, sample.answers, sample.answer_type, scorers.equivalent
        )
    if sample.answer_type != "caption":
        right = is_right(scores)
        scores["accuracy"] = float(right)
        scores["truthfulness"] = float(truthfulness(right=right, refused=answered.refuses))
        scores["refused"] = float(answered.refuses)
    return scores


def is_right(scores: Mapping[str, float]) -> bool:
    """Whether an answer counts as right, by the judge if there is one, else by the benchmark's own rule."""
    deciding = next((name for name in _DECIDING if name in scores), None)
    if deciding is None:
        return False
    return scores[deciding] >= (scaled(RIGHT) if deciding == "judge" else 0.5)


def right_by_words(sample: Sample, answer: str) -> bool:
    """Whether an answer, given without any options to choose from, counts as right by the benchmark's own rule."""
    return is_right({name: score for name, score in _words(sample, answer).items() if name != "multiple choice"})


def _words(sample: Sample, answer: str) -> dict[str, float]:
    if sample.answer_type == "caption":
        return {"BLEU": sentence_bleu(answer, sample.answers), "ROUGE-L": rouge_l(answer, sample.answers)}
    scores: dict[str, float] = {}
    if sample.answers:
        gold, aliases = sample.answers[0], sample.answers[1:]
        scores = {name: float(score(answer, gold, aliases)) for name, score in _WORDS.items()}
    if sample.dataset == "encyclopedic-vqa":
        scores["exact"] = float(encyclopedic_match(answer, sample.answers, sample.answer_type))
    if sample.dataset == "infoseek" or sample.answer_range:
        scores["relaxed"] = float(relaxed_match(answer, sample.answers, sample.answer_range))
    if sample.choices and sample.answers:
        taken = taken_option(answer, (sample.answer, *sample.choices))
        scores["multiple choice"] = float(taken == sample.answer)
    if sample.votes:
        scores["vqa"] = vqa_accuracy(answer, sample.votes)
    return scores


def _claims(sample: Sample, answer: str, model: ModelClaims | None) -> dict[str, float]:
    """Claim precision and recall, of CogBench's questions and of those whose claims are known."""
    if sample.answer_type == "caption" or not (sample.claims or (sample.answers and sample.dataset == "cogbench")):
        return {}
    if model is None:
        score = claims_by_rules(answer, sample.answer, sample.claims)
    else:
        score = model.score(sample.question, answer, sample.answer, sample.claims)
    return {"claim precision": score.precision, "claim recall": score.recall}


def _retrieval(sample: Sample, answered: Answered) -> dict[str, float]:
    if not sample.entries or answered.found is None:
        return {}
    named = [(entry.id, entry.source) for entry in answered.found]
    return {f"recall@{within}": recall_at(named, sample.entries, within) for within in RECALLS}
