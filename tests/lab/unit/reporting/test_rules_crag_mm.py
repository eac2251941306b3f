"""CRAG-MM's statistics beside figures worked out by hand on twenty turns of eight conversations."""

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered, AnswerTrace, Decision
from quizglass_lab.reporting.answers.judged import judge_all
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.answers.sample_scores import Scorers
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.costs import TurnCost
from quizglass_lab.scoring.judge import ModelJudge

RIGHT, WRONG, MISSING = "It is red.", "It is blue.", "I don't know."
# Session, domain, dynamism, egocentric, branch, answer, and how the turn counts by the contest's rule.
TWENTY = [
    ("m1", "food", "static", True, "direct", RIGHT, "right"),
    ("m1", "food", "static", True, "rag", WRONG, "wrong"),
    ("m1", "food", "fast", True, "rag", RIGHT, "right"),
    ("m1", "food", "static", True, "rag", WRONG, "wrong"),
    ("m2", "book", "static", False, "rag", WRONG, "wrong"),
    ("m2", "book", "static", False, "rag", MISSING, "missing"),
    ("m2", "book", "fast", False, "direct", RIGHT, "missing"),  # behind two failures in a row
    ("m2", "book", "static", False, "verify", WRONG, "missing"),
    ("m3", "food", "static", True, "verify", MISSING, "missing"),
    ("m3", "food", "static", True, "verify", RIGHT, "right"),
    ("m3", "food", "static", True, "rag", MISSING, "missing"),
    ("m4", "book", "fast", False, "direct", RIGHT, "right"),
    ("m4", "book", "fast", False, "direct", RIGHT, "right"),
    ("m5", "food", "static", True, "rag", WRONG, "wrong"),
    ("m5", "food", "static", True, "rag", WRONG, "wrong"),
    ("s1", "food", "static", True, "direct", RIGHT, "right"),
    ("s2", "book", "static", True, "rag", WRONG, "wrong"),
    ("s3", "food", "fast", False, "rag", MISSING, "missing"),
    ("s4", "book", "static", False, "verify", RIGHT, "right"),
    ("s5", "food", "static", True, "rag", RIGHT, "right"),
]
# Multi-turn, 15 turns: right m1 2, m3 1, m4 2 = 5; missing m2 3, m3 2 = 5; wrong m1 2, m2 1, m5 2 = 5.
# Conversations: m1 (2 - 2) / 4 = 0, m2 -1 / 4, m3 1 / 3, m4 1, m5 -1; mean (0 - 0.25 + 0.3333 + 1 - 1) / 5 = 1 / 60.
# Single-turn, 5: right 3, missing 1, wrong 1.
BY_HAND = {
    ("accuracy", "multi-turn"): (100 * 5 / 15, 15),
    ("missing", "multi-turn"): (100 * 5 / 15, 15),
    ("hallucination", "multi-turn"): (100 * 5 / 15, 15),
    ("truthfulness", "multi-turn"): (0.0, 15),
    ("truthfulness of conversations", "multi-turn"): (100 / 60, 5),
    ("truthfulness of conversations", "multi-turn, ego"): (100 * (0 + 1 / 3 - 1) / 3, 3),
    ("latency", "multi-turn"): (8.0, 15),  # the mean of 1 to 15
    ("accuracy", "single-turn"): (60.0, 5),
    ("missing", "single-turn"): (20.0, 5),
    ("hallucination", "single-turn"): (20.0, 5),
    ("truthfulness", "single-turn"): (40.0, 5),
    ("latency", "single-turn"): (18.0, 5),
    ("accuracy", "multi-turn, turn 1"): (40.0, 5),  # m1 and m4
    ("accuracy", "multi-turn, turn 2"): (40.0, 5),  # m3 and m4
    ("accuracy", "multi-turn, turn 3"): (100 / 3, 3),  # m1
    ("accuracy", "multi-turn, turn 4"): (0.0, 2),
    ("accuracy", "multi-turn, domain: food"): (100 * 3 / 9, 9),
    ("accuracy", "multi-turn, domain: book"): (100 * 2 / 6, 6),
    ("accuracy", "multi-turn, dynamism: fast"): (75.0, 4),  # m1's, both of m4; m2's no longer counts
    ("accuracy", "multi-turn, dynamism: static"): (100 * 2 / 11, 11),
    ("accuracy", "multi-turn, ego"): (100 * 3 / 9, 9),
    ("accuracy", "multi-turn, category: simple"): (100 * 5 / 15, 15),
    ("accuracy", "multi-turn, image quality: normal"): (100 * 5 / 15, 15),
    ("accuracy", "single-turn, ego"): (100 * 2 / 3, 3),
    ("accuracy", "branch: direct"): (80.0, 5),  # m1, m4 twice, s1; m2's counts as missing
    ("accuracy", "branch: verify"): (50.0, 4),  # m3 and s4
    ("accuracy", "branch: rag"): (100 * 2 / 11, 11),  # m1 and s5
    # Before anybody gives up: m1 2, m2 1, m3 1, m4 2, single 3.
    ("accuracy", ""): (45.0, 20),
    ("truthfulness of conversations", ""): (100 * (0 - 0.25 + 1 / 3 + 1 - 1 + 1 - 1 + 0 + 1 + 1) / 10, 10),
}


def figures(turns: list[tuple[str, str, str, bool, str, str, str]] | None = None) -> dict[tuple[str, str], Measured]:
    samples, answers = [], []
    for number, (session, domain, dynamism, ego, branch, said, _) in enumerate(turns or TWENTY):
        labels = {"domain": domain, "dynamism": dynamism, "query_category": "simple", "image_quality": "normal"}
        source = labels | {"ego": ego, "turns": 1 if session.startswith("s") else 4}
        samples.append(Sample(str(number), "What colour?", (RIGHT,), dataset="crag-mm", session=session, source=source))
        trace = AnswerTrace(decisions=(Decision(by="search_router", label=branch),))
        answers.append(Answered(str(number), said, cost=TurnCost(seconds=number + 1.0), trace=trace))
    return {(each.metric, each.part): each for each in all_figures({"qa-dragon": judge_all(samples, answers)})}


def test_the_contest_s_measures_by_every_part() -> None:
    found = figures()
    assert {key: (pytest.approx(found[key].value), found[key].count) for key in BY_HAND} == BY_HAND


def test_each_turn_counts_as_worked_out() -> None:
    shares = {"accuracy": "right", "missing": "missing", "hallucination": "wrong"}
    found = figures()
    for metric, outcome in shares.items():
        count = sum(each[-1] == outcome for each in TWENTY if each[0].startswith("m"))
        assert found[metric, "multi-turn"].value == pytest.approx(100 * count / 15)


def test_accuracy_without_a_judge_says_so() -> None:
    assert "--judge" in figures()["accuracy", "multi-turn"].note
    sample = Sample("1", "?", (RIGHT,), dataset="crag-mm", session="a")
    judged = judge_all([sample], [Answered("1", "red")], Scorers(ModelJudge(lambda _: "5")))
    found = {(each.metric, each.part): each for each in all_figures({"qa-dragon": judged})}
    accuracy = found["accuracy", "single-turn"]
    assert (accuracy.value, accuracy.note) == (100, "")


def test_a_conversation_cut_to_its_first_turn_is_still_multi_turn() -> None:
    assert {part for _, part in figures(TWENTY[:1]) if part in ("multi-turn", "single-turn")} == {"multi-turn"}


@pytest.mark.parametrize("said", ["It is red, but I don't know why.", "I don\u2019t know."])
def test_a_turn_that_says_that_it_does_not_know_is_missing_whatever_else_it_says(said: str) -> None:
    found = figures([("s1", "food", "static", True, "direct", said, "missing")])
    assert (found["missing", "single-turn"].value, found["hallucination", "single-turn"].value) == (100, 0)


def test_a_refusal_is_right_where_nothing_answers() -> None:
    sample = Sample("1", "?", (MISSING,), dataset="crag-mm", session="a", answerable=False)
    for said, right in ((MISSING, 100), ("Sadly I don't know.", 100), (RIGHT, 0)):
        results = all_figures({"both": judge_all([sample], [Answered("1", said)])})
        found = {(each.metric, each.part): each.value for each in results}
        assert (found["accuracy", "single-turn"], found["missing", "single-turn"]) == (right, 0)


def test_other_benchmarks_have_conversations_and_no_parts_of_crag_mm() -> None:
    samples = [Sample(str(turn), "?", (RIGHT,), session="a") for turn in range(2)]
    answers = [Answered("0", RIGHT), Answered("1", WRONG)]
    found = all_figures({"both": judge_all(samples, answers)})
    assert {each.part for each in found} == {""}
    assert {each.metric: each.value for each in found}["truthfulness of conversations"] == 0
