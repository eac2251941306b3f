"""Which questions take a look at the picture."""

import pytest

from quizglass_server.steps.language.appearance import asks_colour, asks_what_is_seen, tells_colour


@pytest.mark.parametrize(
    "question",
    [
        "How many things are in this picture?",
        "How many people do you see?",
        "how many of these can you count",
        "How many windows can I see?",
        "How many of the people do you see?",
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
        "How many legs does the animal in this picture have?",
        "How many people live in the town that the car in the picture comes from?",
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


@pytest.mark.parametrize(
    "question",
    [
        "What colour is this cup?",
        "What color is this?",
        "which colour are these flowers",
        "What colours does this flag have?",
        "What colour shirt am I wearing?",
        "What colour eyes does she have?",
        "What is the colour of this flower?",
        "What's its colour?",
        "What\u2019s its colour?",
        "What colour is the car in the picture?",
        "What colours can you see?",
        "Which colour does the boat on the left have?",
        "What is the colour of the bird right of the building?",
        "What colour is the one in the middle?",
        "What colour is the door in front of me?",
    ],
)
def test_a_colour_that_is_pointed_at_is_asked_of_the_picture(question: str) -> None:
    assert asks_colour(question)


@pytest.mark.parametrize(
    "question",
    [
        "What colour is a ruby?",
        "What colour is the koala?",
        "What colours are in the flag of France?",
        "What colour is the flag of this country?",
        "What colour does litmus turn in acid?",
        "What colour is on the left of the Italian flag?",
        "What colour is the stone that Victoria wore?",
        "What is the colour of copper?",
        "Who painted The Color Purple?",
        "How many legs does this have?",
        "Which country does this come from?",
        "",
    ],
)
def test_a_colour_of_what_is_named_is_not(question: str) -> None:
    assert not asks_colour(question)


@pytest.mark.parametrize(
    "text",
    ["Rubies are red.", "A greyish bird", "the Blues", "blonde beer", "Golden rings", "wooden, dark", "multicoloured"],
)
def test_words_for_colours_are_found(text: str) -> None:
    assert tells_colour(text)


@pytest.mark.parametrize(
    "text", ["A koala.", "The young of the koala is the joey.", "credit", "tangible", "Greenland", ""]
)
def test_other_words_are_none(text: str) -> None:
    assert not tells_colour(text)
