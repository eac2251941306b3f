"""Policies that choose by the generator's probabilities, and one that tells none."""

import ast
from pathlib import Path

import pytest

from quizglass_server.policies import POLICIES
from quizglass_server.policies.table import CHOICES, CHOSEN, status_of

SOURCES = sorted((Path(__file__).parents[3] / "server" / "quizglass_server" / "policies").glob("*.py"))


def test_every_task_that_a_policy_decides_by_counts_as_chosen() -> None:
    named: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "by" and isinstance(node.value, ast.Constant):
                named.add(str(node.value.value))
    assert named - {"planner"} <= CHOSEN  # a planner is a decider always
    assert named & CHOSEN


@pytest.mark.parametrize(
    ("policy", "missing"),
    [("none", ()), ("both", ()), ("prompt-based", (CHOICES,)), ("omnisearch", (CHOICES,)), ("adaptive", ())],
)
def test_a_policy_that_chooses_needs_a_generator_with_probabilities(policy: str, missing: tuple[str, ...]) -> None:
    def has(part: str) -> bool:
        return part in POLICIES[policy].needs or part.startswith("generator.prompts.")

    assert status_of(POLICIES[policy], has).missing == missing
    assert status_of(POLICIES[policy], lambda part: has(part) or part == CHOICES).missing == ()


def test_a_decider_stands_in_for_probabilities() -> None:
    assert status_of(POLICIES["omnisearch"], lambda part: part != CHOICES).missing == ()
