"""Which answers count as "I don't know"."""

import pytest

from quizglass_server.steps.abstaining import abstains

OWN = "I don't know"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "i DON’T know.",
        "I do not know what this is.",
        "I'm not sure what it is.",
        "Sorry, I cannot tell from the picture.",
        "Unfortunately, the notes do not say who designed it.",
        "The passage doesn't mention its price.",
        "Based on these notes, it is not stated.",
        "There is no information about the founder.",
        "It isn't possible to say.",
        "It is not clear from the notes.",
        "It isn't given.",
        "It does not say.",
        "It does not contain any information about the maker.",
        "It is not known who built it.",
        "I have no idea.",
        "No information is given.",
        "No details available",
        "There's no information on that.",
        "There isn't any mention of the founder in the notes.",
        "Unknown.",
        "This is a new recipe that I'm not familiar with. I'm not sure what it is.",
    ],
)
def test_answers_that_know_nothing(answer: str) -> None:
    assert abstains(answer, OWN)


@pytest.mark.parametrize(
    "answer",
    [
        "It eats leaves. I don't know how many.",
        "The koala does not drink water.",
        "No, gold does not rust.",
        "There are no wheels.",
        "There is no information desk, ask at the gate.",
        "No data is sent to anyone.",
        "There is no entry fee, and the details are on the board.",
        "There was no answer at the door.",
        "It is not a boat.",
        "I see a red car.",
        "The picture shows a koala.",
        "Unknown Pleasures",
        "It doesn't fly.",
        "Notes of a Native Son",
        "It was not known before 1900 and became popular then.",
        "It does not contain nuts.",
        "It does not give milk.",
        "This does not include batteries.",
        "It doesn't show in winter.",
        "It is not clear, but cloudy.",
        "It is not given to children.",
    ],
)
def test_answers_that_say_something(answer: str) -> None:
    assert not abstains(answer, OWN)


def test_another_language_has_the_bundles_own_words() -> None:
    assert abstains("Weiß ich nicht", "weiß ich nicht.")
    assert not abstains("Weiß ich nicht", OWN)
