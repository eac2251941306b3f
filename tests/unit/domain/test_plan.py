"""A plan is a set of searches."""

from __future__ import annotations

import pytest

from quizglass.values import Plan

NONE, IMAGE, TEXT, BOTH = Plan


@pytest.mark.parametrize("plan", Plan)
def test_a_plan_is_made_of_its_searches(plan: Plan) -> None:
    assert Plan.of(image=plan.searches_image, text=plan.searches_text) is plan


@pytest.mark.parametrize(
    ("plan", "other", "within", "without"),
    [
        (BOTH, TEXT, TEXT, IMAGE),
        (TEXT, BOTH, TEXT, NONE),
        (IMAGE, TEXT, NONE, IMAGE),
        (BOTH, NONE, NONE, BOTH),
        (BOTH, BOTH, BOTH, NONE),
    ],
)
def test_plans_are_taken_within_and_without_each_other(plan: Plan, other: Plan, within: Plan, without: Plan) -> None:
    assert plan.within(other) is within
    assert plan.without(other) is without
