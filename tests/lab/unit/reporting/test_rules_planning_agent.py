"""The planning agent's statistics beside figures worked out by hand on twenty questions."""

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered, AnswerTrace
from quizglass_lab.reporting.answers.judged import judge_all
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.costs import TurnCost

PLANS = ["none"] * 6 + ["text"] * 8 + ["both"] * 6
SEARCHES = {"none": (0, 0), "text": (0, 1), "both": (1, 1)}
OMNISEARCH = [(1, 2)] * 10 + [(2, 3)] * 10
# Planned: 6 image and 14 text searches, 6 x 6.4 + 14 x 1.4 = 58.0 s, with 20 plans of 1.65 s 91.0 s.
# OmniSearch: 30 image and 50 text searches, 30 x 6.4 + 50 x 1.4 = 262.0 s.
BY_HAND = {
    ("plan share", "none"): 30.0,
    ("plan share", "image"): 0.0,
    ("plan share", "text"): 40.0,
    ("plan share", "both"): 30.0,
    ("saved: search time", ""): 100 * (1 - 58 / 262),
    ("saved: search and planning time", ""): 100 * (1 - 91 / 262),
    ("saved: image searches", ""): 80.0,
    ("saved: text searches", ""): 72.0,
    ("image searches", ""): 0.3,
    ("text searches", ""): 0.7,
    ("search time at 6.4 s and 1.4 s", ""): 2.9,
}


def figures(*rows: str) -> dict[tuple[str, str, str], Measured]:
    samples = [Sample(str(number), "Who?", ("Ana",)) for number in range(20)]
    planned = [
        Answered(str(number), "Ana", cost=TurnCost(*SEARCHES[plan]), trace=AnswerTrace(plan=plan))
        for number, plan in enumerate(PLANS)
    ]
    iterative = [Answered(str(number), "Ana", cost=TurnCost(*each)) for number, each in enumerate(OMNISEARCH)]
    every = {"planning-agent": planned, "omnisearch": iterative, "both": planned}
    runs = {row: judge_all(samples, every[row]) for row in rows}
    return {(each.row, each.metric, each.part): each for each in all_figures(runs)}


def test_shares_of_plans_and_what_planning_saves() -> None:
    found = figures("planning-agent", "omnisearch")
    assert {key: found["planning-agent", *key].value for key in BY_HAND} == pytest.approx(BY_HAND)
    saved = found["planning-agent", "saved: search time", ""]
    assert saved.count == 20
    assert saved.low is not None
    assert saved.high is not None
    assert saved.low < saved.value < saved.high


def test_savings_take_both_systems_and_a_fixed_plan_has_no_shares() -> None:
    assert not [metric for _, metric, _ in figures("planning-agent") if metric.startswith("saved")]
    assert not [metric for _, metric, _ in figures("both", "omnisearch") if metric == "plan share"]


def test_nothing_is_saved_of_searches_that_are_never_made() -> None:
    samples = [Sample("1", "Who?", ("Ana",))]
    runs = {
        "planning-agent": judge_all(samples, [Answered("1", "Ana", cost=TurnCost(0, 1))]),
        "omnisearch": judge_all(samples, [Answered("1", "Ana", cost=TurnCost(0, 2))]),
    }
    found = {each.metric: each.value for each in all_figures(runs) if each.metric.startswith("saved")}
    assert found["saved: text searches"] == 50
    assert "saved: image searches" not in found
