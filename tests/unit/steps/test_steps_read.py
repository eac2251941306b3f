"""Which questions want the words in a picture themselves."""

import pytest

from quizglass_server.steps.read import asks_to_read, asks_to_read_out


@pytest.mark.parametrize(
    "question",
    [
        "What does it say?",
        "What does this sign say",
        "what does the red label read?",
        "What is written here?",
        "What's printed on the box?",
        "What words are on the poster?",
        "Read this to me, please.",
        "Can you read the label aloud?",
        "Please read me the sign",
    ],
)
def test_words_themselves_are_wanted(question: str) -> None:
    assert asks_to_read_out(question)


@pytest.mark.parametrize(
    "question",
    [
        "What does the sign say about dogs?",
        "What does my note say?",
        "What does it say about the price?",
        "Who wrote this?",
        "When was this written?",
        "Is it printed in colour?",
        "Have I read this book?",
        "What is this?",
        "",
    ],
)
def test_something_else_is_wanted(question: str) -> None:
    assert not asks_to_read_out(question)


def test_what_is_read_out_is_looked_for_at_once() -> None:
    assert asks_to_read("What is written here?")
