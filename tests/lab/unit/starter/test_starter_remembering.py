"""From which certainty on an answer from memory is sent."""

import random

import pytest

from quizglass_lab.starter.stages.remembering import COST, LOOKED_UP, memory_threshold


def answers(calibrated: bool) -> tuple[list[float], list[bool]]:
    """Answers that are right as often as they are sure, or as often as not."""
    rng = random.Random(3)
    sure = [rng.uniform(0.02, 0.98) for _ in range(4000)]
    return sure, [rng.random() < (each if calibrated else 0.5) for each in sure]


def test_what_is_right_as_often_as_it_is_sure_is_told_where_a_look_would_not_pay() -> None:
    fitted = memory_threshold(*answers(calibrated=True))
    assert fitted["memory_accept"] == pytest.approx(LOOKED_UP - COST, abs=0.02)
    measured = fitted["memory"]
    assert isinstance(measured, dict)
    assert measured["answers"] == 4000
    assert measured["right_of_given"] > measured["right"] + 0.2
    assert 0.2 < measured["given"] < 0.4


def test_answers_whose_certainty_says_nothing_have_no_threshold() -> None:
    assert memory_threshold(*answers(calibrated=False)) == {}


def test_few_answers_have_no_threshold() -> None:
    assert memory_threshold([0.9] * 50 + [0.2] * 19, [True] * 50 + [False] * 19) == {}


def test_certainty_that_says_next_to_nothing_has_all_answers_told_that_are_right_often_enough() -> None:
    sure, right = [0.02] * 1000 + [0.98] * 1000, [True] * 900 + [False] * 100 + [True] * 901 + [False] * 99
    assert memory_threshold(sure, right)["memory_accept"] == 0
