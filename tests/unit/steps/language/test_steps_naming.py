"""A question with its subject's name, and queries that compare a thing with itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.steps.language.naming import repeats_a_name, with_name
from quizglass_server.steps.language.phrases import named_at


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("Which is older, the Velmora or the Velmora?", True),
        ("How long is the Velmora? How long is the Velmora?", True),
        ("How long is the Velmora? How wide is the Velmora?", False),
        ("Which is older, the Velmora or the Tall Tagrin?", False),
        ("Was it 1990 or 1990?", False),
        ("Velmora or the Velmora?", False),  # the first word may have its capital from its place
        ("", False),
    ],
)
def test_a_name_that_stands_twice_is_compared_with_itself(text: str, repeats: bool) -> None:
    assert repeats_a_name(text) == repeats


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("How much more does the Tagrin weigh than this?", "How much more does the Tagrin weigh than the Velmora?"),
        ("Which is newer, the Tagrin or this small boat?", "Which is newer, the Tagrin or the Velmora?"),
        ("Is my boat older than the Tagrin?", "Is the Velmora older than the Tagrin?"),
        ("Is the one beside the car older than the Tagrin?", "Is the Velmora older than the Tagrin?"),
        ("Is this older than the boat?", None),
        ("Which is older, the car or the boat?", None),
        ("Which is older, the Tagrin or the Ozric?", None),
        ("", None),
    ],
)
def test_the_name_stands_for_the_one_thing_that_is_pointed_at(question: str, named: str | None) -> None:
    assert with_name(question, "Velmora") == named


@given(
    st.lists(
        st.sampled_from(["the", "This ", "\u0130", "one", "car", "Velmora", "of", "price", "?", " ", "\u00df"])
    ).map(" ".join)
)
def test_what_is_named_stands_within_any_question(question: str) -> None:
    for each in named_at(question):
        assert 0 < each.start < each.end <= len(question)
        assert each.by_name == question[each.start].isupper()
    named = with_name(question, "Ozric")
    assert named is None or "the Ozric" in named
