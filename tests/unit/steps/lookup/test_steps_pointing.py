"""Which question of a dialogue says what of the picture is meant."""

from __future__ import annotations

import pytest

from quizglass.values import Exchange
from quizglass_server.steps.lookup.pointing import pointing

BOAT, TOWER = "How much does the boat cost?", "How tall is the tower on the left?"


@pytest.mark.parametrize(
    ("question", "earlier", "says"),
    [
        ("How much does it weigh?", (TOWER, BOAT), BOAT),
        ("Who made it?", (BOAT, TOWER, "When was it built?"), TOWER),
        ("Who made them?", ("How many boats are there?",), "How many boats are there?"),
        (TOWER, (BOAT,), TOWER),
        ("What is this, and who made it?", (BOAT,), "What is this, and who made it?"),
        ("Is it the one on the left?", (BOAT,), "Is it the one on the left?"),
        ("Who made it?", (), "Who made it?"),
        ("Who made it?", ("Is it loud?",), "Who made it?"),
    ],
)
def test_it_is_what_the_latest_question_before_it_points_at(question: str, earlier: tuple[str, ...], says: str) -> None:
    assert pointing(question, [Exchange(each, "I don't know") for each in earlier]) == says
