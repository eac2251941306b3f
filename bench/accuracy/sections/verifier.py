"""The dual verifier: which answers it trusts, and what it refuses of questions with and without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.accuracy.ground import Ground, lacking, said, skipped
from bench.accuracy.several import Turns, ask_policies, barred_unseen, share
from bench.results import Row, at_least, at_most
from bench.sections import Part
from quizglass.values import Evidence, Origin
from quizglass_bundle.files import Bundle
from quizglass_bundle.tuning import Thresholds
from quizglass_lab.pocketworld.questions import make_unknowable
from quizglass_lab.scoring.selective import risk_coverage_area
from quizglass_server.steps.decide import trust
from quizglass_server.steps.lookup.matching import evidence_odds

WITH, WITHOUT = "qa-dragon+", "qa-dragon-no-verifier+"
SHARE = 0.5
_SUPPORTED, _UNSURE, _EVEN = "supported", "unsure", 0.5


def run(ground: Ground) -> Part:
    """QA-Dragon with its verifier and without on the same questions."""
    answerable: list[Turns] = []
    nothing: list[Turns] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        with ground.server(trial.folder) as target:
            if missing := lacking(target, (WITH, WITHOUT)):
                return skipped("verifier: risk and coverage, refusals", said(missing))
            unanswerable = make_unknowable(trial.world, ground.count(SHARE / 2), seed, format=ground.format)
            both = [*trial.questions, *unanswerable]
            turns = ask_policies(ground, "verifier", trial, both, (WITH, WITHOUT), target)
        answerable += turns[: len(trial.questions)]
        nothing += turns[len(trial.questions) :]
    thresholds = Bundle.load(ground.bundle, hashes=False).manifest.thresholds
    unseen = barred_unseen(partial(rows, thresholds=thresholds), answerable, nothing)
    counts = {"questions": len(answerable), "unanswerable": len(nothing)}
    return Part(rows(answerable, nothing, thresholds), counts | {"unseen": unseen})


def rows(answerable: Sequence[Turns], nothing: Sequence[Turns], thresholds: Thresholds) -> list[Row]:
    """Areas under the risk-coverage curves of answers that were written, and refusals.

    Args:
        answerable: turns about questions that have an answer.
        nothing: turns about those that have none.
        thresholds: of the bundle: what it holds against its threshold.
    """
    written = [turns for turns in answerable if not turns.abstained(WITHOUT)]
    refused = share(nothing, lambda turns: turns.abstained(WITH))
    doubted = share(answerable, lambda turns: turns.abstained(WITH))
    return [
        *_areas(written, thresholds),
        at_least("unanswerable questions refused, with the verifier", refused, "%", 85),
        Row("unanswerable questions refused, without it", share(nothing, lambda t: t.abstained(WITHOUT)), "%"),
        at_most("answerable questions refused, with the verifier", doubted, "%", 8),
        Row("answerable questions refused, without it", share(answerable, lambda t: t.abstained(WITHOUT)), "%"),
        Row("answers that the verifier refused and that were wrong", _rightly(written), "%"),
    ]


def _areas(written: Sequence[Turns], thresholds: Thresholds) -> list[Row]:
    name = "area under risk and coverage, by the verifier"
    if not written:
        return [Row(name, None, "", "no answer was written")]
    rights = [turns.right(WITHOUT) for turns in written]
    mean = risk_coverage_area([turns.of[WITHOUT]["mean"] for turns in written], rights)
    least = risk_coverage_area([turns.of[WITHOUT]["least"] for turns in written], rights)
    ours = risk_coverage_area([confidence(turns, thresholds) for turns in written], rights)
    alone = risk_coverage_area([confidence(turns, Thresholds()) for turns in written], rights)
    return [
        Row(name, ours, "", "mean token probability alone", mean, ours / mean if mean else None, "< peer", ours < mean),
        Row("the same, by the verifier's probability alone", alone, ""),
        Row("the same, by the least token probability", least, ""),
    ]


def confidence(turns: Turns, thresholds: Thresholds) -> float:
    """How far the dual verifier trusts an answer: below all others where its tokens are too unlikely, then by the
    probability that the evidence supports it, with its tokens and the match of what the picture shows as the
    bundle counts them in. Where nothing was looked up no verifier is asked, whose odds are even then.

    It is the answer that was written without the verifier: before another look that only a doubt asked for.
    """
    answer = turns.of[WITHOUT]
    least = float(answer["least"])
    if turns.of[WITH]["abstained"] == _UNSURE:
        return least - 1
    judged = [each["probabilities"] for each in turns.of[WITH]["decided"] if each["by"] == "verifier"]
    supported = judged[min(answer["rounds"], len(judged) - 1)].get(_SUPPORTED, 0.0) if judged else _EVEN
    evidence = [
        Evidence("", Origin(origin), entry, "", text, search_score=score, used=used)
        for origin, entry, text, score, _, used in answer["evidence"]
    ]
    shown = [item for item in evidence if item.used and item.origin is not Origin.READ_TEXT]
    match = evidence_odds(turns.question.text, shown, evidence, thresholds)
    return trust(supported, least, thresholds.support_certainty, match)


def _rightly(written: Sequence[Turns]) -> float:
    return share([turns for turns in written if turns.abstained(WITH)], lambda turns: not turns.right(WITHOUT))
