"""Which question of a dialogue says what of the picture is meant."""

from __future__ import annotations

import pytest

from quizglass.values import Exchange
from quizglass_server.steps.lookup.parts.pointing import each_meant, pointing, with_earlier

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
        ("How old is he?", (BOAT, TOWER, "And when?"), TOWER),
        ("With whom?", (TOWER, "Who walks him?"), TOWER),
    ],
)
def test_it_is_what_the_latest_question_before_it_points_at(question: str, earlier: tuple[str, ...], says: str) -> None:
    assert pointing(question, [Exchange(each, "I don't know") for each in earlier]) == says


@pytest.mark.parametrize(
    ("question", "earlier", "says"),
    [
        ("And where?", (TOWER, BOAT), f"{BOAT} And where?"),
        ("For how much?", (BOAT, "And when?", "Thanks!", "Who else?"), f"{BOAT} For how much?"),
        ("And when?", (), "And when?"),
        ("How old is it?", (BOAT,), "How old is it?"),
        ("Who founded Jolawex?", (BOAT,), "Who founded Jolawex?"),
    ],
)
def test_a_question_that_leaves_its_subject_out_stands_behind_the_one_that_says_it(
    question: str, earlier: tuple[str, ...], says: str
) -> None:
    assert with_earlier(question, [Exchange(each, "I don't know") for each in earlier]) == says


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Which is older, the boat at the top or this car on the left?",
            ["the boat at the top or this ", "the car on the left?"],
        ),
        (
            "Which costs more, the one on the left or the one on the right?",
            ["the one on the left or the ", "the one on the right?"],
        ),
        ("Which is newer, the boat, the car or the Velmora?", ["the boat, the ", "the car or the Velmora?"]),
        ("Which is newer, the boat or the Velmora?", []),
        ("How much do two of the boat cost?", []),
        ("What does the dish beside the book cost?", []),
        ("What is the price of the boat?", []),
        ("What is this?", []),
    ],
)
def test_things_that_a_question_names_by_sight_are_looked_up_each_by_its_part(question: str, parts: list[str]) -> None:
    assert each_meant(question) == parts
