"""Which questions only somebody can answer who sees the picture."""

import pytest

from quizglass_server.steps.language.appearance import asks_what_is_seen


@pytest.mark.parametrize(
    "question",
    [
        "How many things are in this picture?",
        "How many people do you see?",
        "how many of these can you count",
        "How many windows can I see?",
        "What is on the left of the picture?",
        "What is in the top right corner?",
        "What's written on the right-hand side of this photo?",
        "Is it on the left or on the right?",
        "What is behind it?",
        "Who stands next to me?",
        "Is there a person in the picture?",
        "What colour is the background?",
        "What color is the background?",
    ],
)
def test_counts_and_places_in_a_picture_can_only_be_seen(question: str) -> None:
    assert asks_what_is_seen(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is this?",
        "What colour is this?",
        "How many strings does this have?",
        "How many legs does a spider have?",
        "How many moons does the planet on the left have?",
        "Who made the car in the middle?",
        "What is the one on the right made of?",
        "Who is behind Apollo 11?",
        "In which museum is the picture on the left?",
        "What is the corner stone of algebra?",
        "Is there life on Mars?",
        "",
    ],
)
def test_what_notes_may_tell_is_not_refused(question: str) -> None:
    assert not asks_what_is_seen(question)
