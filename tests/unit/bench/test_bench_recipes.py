"""Reports about trainings and models' answers."""

import json
from pathlib import Path

import pytest

from bench.recipes import planner, work
from bench.recipes.work import Asked

SEES = Asked(
    [True, True, True, False], ["none", "image", "image", "both"], ["none", "none", "image", "both"], 0.75, 0.25
)
BLIND = Asked([True, False, False, False], ["none"] * 4, ["text"] * 4, 0.0, 0.0)


MANY = Asked([True, False] * 200, ["none"] * 400, ["text"] * 400, 0.0, 0.0)
ALL = Asked([True] * 400, ["none"] * 400, ["text"] * 400, 0.0, 0.0)


def test_better_is_what_is_so_beyond_the_interval_of_the_difference() -> None:
    row = planner._above("all", ALL, "many", MANY)
    assert (row.value, row.peer, row.peer_value, row.ok) == (100.0, "many", 50.0, True)
    assert row.name.startswith("right answers: all (difference +")
    assert planner._above("many", MANY, "all", ALL).ok is False
    assert planner._above("sees", SEES, "blind", BLIND).ok is False, "four questions show nothing"


def test_not_worse_is_what_is_not_so_beyond_the_interval() -> None:
    assert planner._above("blind", BLIND, "sees", SEES, better=False).ok
    assert not planner._above("many", MANY, "all", ALL, better=False).ok


def test_shares_of_fewer_questions_have_a_wider_interval() -> None:
    low, high = planner._apart(85.0, 80.0, 500)
    assert low > 0
    assert high < 10
    assert planner._apart(85.0, 80.0, 50)[0] < 0


def test_a_plan_to_the_letter_is_answered_as_the_policy_of_its_name() -> None:
    fixed = {name: Asked([name == "image"] * 4, [name] * 4, SEES.needs, 0.0, 0.0) for name in planner.FIXED}
    strict = planner.to_the_letter(SEES, fixed)
    assert strict == Asked([False, True, True, False], SEES.plans, SEES.needs, 0.75, 0.25)


def test_a_curve_has_every_evaluation_once_and_none_of_the_losses() -> None:
    curve = [{"step": 10, "loss": 1.0}, {"step": 50, "eval_right": 0.5}, {"step": 50, "eval_right": 0.5}]
    told = planner._told(
        {"steps": 50, "minutes": 1.0, "examples": {"plan": 9}, "held_out": {"right": 0.5}, "curve": curve}
    )
    assert told["curve"] == [(50, 50.0)]


def test_questions_that_nothing_answers_are_not_counted(tmp_path: Path) -> None:
    turns = [
        {"id": "a", "answer": "Red", "plan": "none", "image_searches": 0, "text_searches": 0},
        {"id": "b", "answer": "blue", "plan": "both", "image_searches": 1, "text_searches": 2},
        {"id": "c", "answer": "", "plan": "text", "image_searches": 0, "text_searches": 1},
    ]
    (tmp_path / "both.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    gold = [
        {"id": "b", "answer": "green", "aliases": [], "group": "both"},
        {"id": "a", "answer": "crimson", "aliases": ["red"], "group": "none"},
    ]
    asked = work._asked(tmp_path / "both.jsonl", gold)
    assert asked == Asked([False, True], ["both", "none"], ["both", "none"], 0.5, 1.0)
    assert asked.accuracy == 50.0


def test_right_answers_are_told_by_what_a_question_needs() -> None:
    assert planner._data(SEES)["right_by_need"] == {"none": 100.0, "image": 100.0, "both": 0.0}


def test_every_planner_that_answers_was_trained() -> None:
    assert planner.PLANNER in planner.TRAININGS


def test_steps_that_were_made_with_other_settings_are_not_told_as_if_they_were_of_these(tmp_path: Path) -> None:
    for _ in range(2):
        work.claim(tmp_path / "steps", seeds=[1, 2], fresh=3)
    with pytest.raises(SystemExit, match=r"steps: its steps were made with fresh 3; delete it, or name another"):
        work.claim(tmp_path / "steps", seeds=[1, 2], fresh=4)
    work.claim(tmp_path / "others", seeds=[1, 2], fresh=4)
