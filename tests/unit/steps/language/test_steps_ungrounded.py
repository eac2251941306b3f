"""What a text names that nothing told."""

import pytest

from quizglass_server.steps.language.naming import has_ungrounded_names

TOLD = {"question": "What does this cost?", "seen": ["Velmora is a red car made by Orvex."], "words": None}


@pytest.mark.parametrize(
    ("query", "untold"),
    [
        ("How much does the Velmora cost?", False),
        ("What is Velmora's price?", False),
        ("Who founded Orvex?", False),
        ("How much does the Tandric cost?", True),
        ("Tandric or velmora?", False),
        ("In 1974, what did it cost?", False),
        ("", False),
    ],
)
def test_a_name_is_told_where_it_stands_anywhere(query: str, untold: bool) -> None:
    assert has_ungrounded_names(query, TOLD) is untold


def test_what_was_said_before_is_told() -> None:
    told = {"history": [{"question": "What is it?", "answer": "the Tandric"}]}
    assert not has_ungrounded_names("What does the Tandric weigh?", told)
    assert has_ungrounded_names("What does the Tandric weigh?", {})
