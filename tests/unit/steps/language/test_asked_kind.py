"""Whether a sentence names the kind that a question asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.steps.language.asked_kind import says_which


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("In which constellation is this?", "It shows a part of the sky in the constellation Fornax."),
        ("Which lot number is it?", "Lot 52."),
        ("What grip size is it?", "Grip size 3."),
        ("Which pages are hard to read?", "Pages 40 to 44 got wet."),
        ("what mouthpiece does it have", "Mouthpiece 7C."),
        ("On which seat was it, and when?", "Found on seat 12F after the matinee."),
    ],
)
def test_a_name_or_number_behind_the_noun_is_which(question: str, sentence: str) -> None:
    assert says_which(question, sentence)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("In which constellation is this?", "The constellation is faint."),
        ("What is this?", "This Is It."),
        ("What does it cost?", "The cost 5 years ago."),
        ("Who made it?", "Made by Tyzack."),
        ("Which room is it?", "The bathroom Anna painted."),
        ("What?", "What Anna said."),
    ],
)
def test_anything_else_is_not(question: str, sentence: str) -> None:
    assert not says_which(question, sentence)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_may_be_asked_and_said(question: str, sentence: str) -> None:
    assert says_which(question, sentence) in (True, False)
