"""Which questions want the words in a picture themselves."""

import pytest

from quizglass_server.steps.read import asks_for_gist, asks_to_read, asks_to_read_out


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
        "Read me the menu",
        "read that notice to me",
        "Could you read the letter out loud, please?",
        "What does the notice say?",
        "What does it say on the door?",
        "Tell me what the packet says",
        "What's on the board?",
        "What does the display show?",
        "What is the text on this card?",
        "Is there any writing here?",
        "Read everything on this page",
        "Can you read what it says?",
        "Can you read what's on the screen?",
        "What is the sign saying?",
        "What does the back of the packet say?",
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
        "What's on the table?",
        "What does this picture show?",
        "What does the doctor's letter say about salt?",
        "Read me the price",
        "Read the price on the menu",
        "What's the name of the shop?",
        "What do you say?",
        "Read my notes",
        "What's written on the back?",
        "What do the letters in the corner mean?",
        "",
    ],
)
def test_something_else_is_wanted(question: str) -> None:
    assert not asks_to_read_out(question)


@pytest.mark.parametrize("question", ["What is written here?", "What's on the menu?", "What's on this page?"])
def test_what_is_read_out_is_looked_for_at_once(question: str) -> None:
    assert asks_to_read(question)


@pytest.mark.parametrize(
    ("question", "gist"),
    [
        ("What is this letter about?", True),
        ("Can you summarise the page for me?", True),
        ("Give me a short summary of this article", True),
        ("What is this about?", False),  # of a thing as well
        ("What is the dog about to do?", False),
        ("Summarise what happened", False),
        ("What is the letter on the table about?", False),
    ],
)
def test_what_a_text_is_about_as_a_whole(question: str, gist: bool) -> None:
    assert asks_for_gist(question) is gist
