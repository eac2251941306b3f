"""CogPlanner's statistics beside figures worked out by hand on twenty questions."""

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.pocketworld.question import Hop
from quizglass_lab.reporting.answers.answered import Answered, AnswerTrace, Decision, Stage
from quizglass_lab.reporting.answers.judged import judge_all
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.answers.sample_scores import Scorers
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.claims import ModelClaims
from quizglass_lab.scoring.costs import TurnCost

ROW = "cogplanner-parallel"
GOLD = "It is red. Ana made it."
# Hops, answer, and by hand its claim precision, claim recall and token F1 (gold words: it is red ana made it).
KINDS = [
    (1, "It is red. Ana made it.", 1.0, 1.0, 1.0),
    (2, "Ana made it.", 1.0, 0.5, 2 * 3 / (3 + 6)),
    (3, "Ana made it. It is old.", 0.5, 0.5, 2 * 5 / (6 + 6)),
    (4, "Ben sold that.", 0.0, 0.0, 0.0),
]
# Rounds of queries, decisions, and what people asked.
HUMAN = ("Who made the red car?", "When was Ana born?")
SAME = (("Who made the red car?",), ("When was Ana born?",))
LESS = (("Who made the red car?",), ())
# Reformulation F1 of LESS: its 4 words without the article ("who made red car") are all among people's 8: 8 / 12.
# Planning, seconds since the turn began: reformulate 0.1 to 0.5 beside act 0.1 to 0.2; second round 1.0 to 1.3 then
# 1.3 to 1.4; together 0.4 + 0.4 = 0.8 s.
STAGES = (
    Stage(name="reformulate", started=0.1, seconds=0.4, round=1),
    Stage(name="act", started=0.1, seconds=0.1, round=1),
    Stage(name="text_search", started=0.5, seconds=0.5, round=1),
    Stage(name="reformulate", started=1.0, seconds=0.3, round=2),
    Stage(name="act", started=1.3, seconds=0.1, round=2),
)
ACTS = ("text", "none")


def figures(*, rounds: tuple[tuple[str, ...], ...] = SAME) -> dict[tuple[str, str], Measured]:
    samples, answers = [], []
    for number in range(20):
        hops, said, *_ = KINDS[number // 5]
        asked = tuple(Hop("text", query, "", "", place) for place, query in enumerate(HUMAN))
        samples.append(Sample(str(number), "?", (GOLD,), dataset="cogbench", hops=asked, hop_count=hops))
        decisions = tuple(Decision(by="act", label=label) for label in ACTS)
        cost = TurnCost(answer_tokens=6, written_tokens=20, seconds=2.0)
        trace = AnswerTrace(decisions=decisions, queries=rounds, stages=STAGES)
        answers.append(Answered(str(number), said, cost=cost, trace=trace))
    return {(each.metric, each.part): each for each in all_figures({ROW: judge_all(samples, answers)})}


def test_claims_words_and_their_average_by_hops() -> None:
    found = figures()
    by_hand = {
        ("claim precision", ""): 100 * (1 + 1 + 0.5 + 0) / 4,
        ("claim recall", ""): 100 * (1 + 0.5 + 0.5 + 0) / 4,
        ("f1", ""): 100 * (1 + 6 / 9 + 10 / 12 + 0) / 4,
        ("average of claim precision, claim recall and f1", ""): 100 * (2.5 + 2 + 2.5) / 12,
        ("claim precision", "1 hop"): 100.0,
        ("claim recall", "2 hops"): 50.0,
        ("claim precision", "more than 2 hops"): 25.0,
        ("f1", "more than 2 hops"): 100 * 10 / 12 / 2,
    }
    assert {key: found[key].value for key in by_hand} == pytest.approx(by_hand)
    assert (found["f1", ""].count, found["f1", "1 hop"].count, found["f1", "more than 2 hops"].count) == (20, 5, 10)


def test_claims_say_whether_a_model_compared_them() -> None:
    sample = Sample("1", "?", (GOLD,), dataset="cogbench")
    for model, said in ((None, True), (ModelClaims(lambda _: "yes"), False)):
        judged = judge_all([sample], [Answered("1", GOLD)], Scorers(claims=model))
        notes = {each.metric: each.note for each in all_figures({ROW: judged})}
        for metric in ("claim precision", "claim recall", "average of claim precision, claim recall and f1"):
            assert ("--claims" in notes[metric]) == said
        assert not notes["f1"]


def test_reformulations_beside_those_of_people() -> None:
    same, less = figures(), figures(rounds=LESS)
    for metric in ("reformulation BLEU", "reformulation ROUGE-L", "reformulation f1"):
        assert same[metric, ""].value == pytest.approx(100)
    assert less["reformulation f1", ""].value == pytest.approx(100 * 2 * 4 / (4 + 8))
    # Five of nine words in their order: precision 1, recall 5/9.
    assert less["reformulation ROUGE-L", ""].value == pytest.approx(100 * 2 * (5 / 9) / (1 + 5 / 9))
    assert ("reformulation BLEU", "") not in figures(rounds=())


def test_the_cost_of_planning_alone() -> None:
    found = figures()
    # 20 tokens written less 6 of the answer are 14 of queries; two actions are a token each.
    by_hand = {
        ("planning time", ""): (0.8, "s"),
        ("planning tokens", ""): (16.0, "a turn"),
        ("parallel tokens", ""): (14.0, "a turn"),
        ("action share", "none"): (50.0, "%"),
        ("action share", "text"): (50.0, "%"),
        ("action share", "image"): (0.0, "%"),
    }
    assert {key: (pytest.approx(found[key].value), found[key].unit) for key in by_hand} == by_hand


def test_what_answers_do_not_tell_has_no_figure() -> None:
    sample = Sample("1", "?", (GOLD,), dataset="cogbench")
    metrics = {each.metric for each in all_figures({ROW: judge_all([sample], [Answered("1", GOLD)])})}
    assert "claim recall" in metrics
    assert not {"planning time", "planning tokens", "action share", "reformulation BLEU"} & metrics
