"""How far an answer is trusted: risk and coverage, and what the verifier says of answers."""

import pytest

from bench.accuracy.sections import verifier
from quizglass_bundle.tuning import Match, Thresholds
from quizglass_lab.scoring.selective import risk_coverage_area
from tests.support.benchmarks.accuracy_turns import QUESTIONS, by_name, record, right, turns


def test_risk_and_coverage_by_hand() -> None:
    assert risk_coverage_area([0.9, 0.8, 0.1], [True, True, False]) == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert risk_coverage_area([0.1, 0.8, 0.9], [True, True, False]) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert risk_coverage_area([1, 1], [True, False]) == pytest.approx(0.5), "of equal confidence: in any order"
    with pytest.raises(ValueError, match="confidences: 1 for 2 answers"):
        risk_coverage_area([1], [True, False])


def test_the_verifier_trusts_by_support_and_least_what_its_tokens_refuse() -> None:
    question = QUESTIONS[0]
    judged = [{"by": "verifier", "label": "supported", "round": 0, "probabilities": {"supported": 0.9}}]
    sure = turns(
        question, qa_dragon_plus=right(question, decided=judged), qa_dragon_no_verifier_plus=right(question, mean=0.6)
    )
    unsure = turns(
        question,
        qa_dragon_plus=record(abstained="unsure"),
        qa_dragon_no_verifier_plus=record("bad", mean=0.8, least=0.8),
    )
    unasked = turns(question, qa_dragon_plus=record(), qa_dragon_no_verifier_plus=right(question, mean=0.7, least=0.7))
    told = [verifier.confidence(each, Thresholds(support_certainty=1)) for each in (sure, unsure, unasked)]
    assert told == pytest.approx([0.5, -0.2, 0.7])
    told = [verifier.confidence(each, Thresholds()) for each in (sure, unsure, unasked)]
    assert told == pytest.approx([0.9, -0.2, 0.5]), "no model was asked"
    rows = by_name(verifier.rows([sure, unsure, unasked], [unsure], Thresholds()))
    area = rows["area under risk and coverage, by the verifier"]
    assert area.value is not None
    assert area.peer_value is not None
    assert area.value < area.peer_value
    assert rows["unanswerable questions refused, with the verifier"].value == 100
    assert rows["answers that the verifier refused and that were wrong"].value == 100


@pytest.mark.parametrize(("rounds", "share", "trusted"), [(0, 0, 0.2), (1, 0, 0.8), (0, 1, 0.6), (1, 0.5, 0.7101)])
def test_what_the_verifier_said_is_of_the_answer_that_is_counted(rounds: int, share: float, trusted: float) -> None:
    said = [{"by": "verifier", "probabilities": {"supported": supported}} for supported in (0.2, 0.8)]
    plain = record("a", mean=0.7, least=0.6, rounds=rounds)
    turn = turns(QUESTIONS[0], qa_dragon_plus=record("b", decided=said), qa_dragon_no_verifier_plus=plain)
    thresholds = Thresholds(support_certainty=share)
    assert verifier.confidence(turn, thresholds) == pytest.approx(trusted, abs=1e-4)


def test_an_answer_from_an_entry_that_hardly_matches_is_trusted_less() -> None:
    said = [{"by": "verifier", "probabilities": {"supported": 0.8}}]
    match = Match(similarity=10, margin=0, offset=-9)

    def trusted(cosine: float) -> float:
        hits = [["image_search", "t", "", cosine, 0.0, True], ["image_search", "o", "", 0.95, 0.0, False]]
        plain = record("a", mean=0.7, least=0.6, evidence=hits)
        turn = turns(QUESTIONS[0], qa_dragon_plus=record("b", decided=said), qa_dragon_no_verifier_plus=plain)
        return verifier.confidence(turn, Thresholds(support_match=match))

    assert trusted(0.9) == pytest.approx(0.8)
    assert trusted(0.7) < 0.5
