"""Answers that leave out what limits the fact that they repeat, and those that do not."""

import pytest

from quizglass.values import Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.qualifiers import whole_sentence
from quizglass_server.steps.quoting import NoteSentence, sentences_of


def note(text: str) -> list[NoteSentence]:
    return sentences_of([Evidence("1", Origin.IMAGE_SEARCH, "aloe", "The aloe", text, used=True)])


DROPPED = [
    ("three weeks", "Water it every three weeks."),
    ("120 g of dry food", "He gets 120 g of dry food twice a day."),
    ("Lena", "Everyone may eat it except Lena, who is allergic to sesame."),
    ("a tablet", "Take half a tablet with food."),
    ("two cups", "At most two cups of water."),
    ("20 minutes", "Bake for 20 minutes, or until golden."),
    ("3 drops", "3 drops per eye."),
    ("ten drops", "ten drops an hour."),
    ("40 degrees", "Wash at 40 degrees, never with bleach."),
    ("The back door", "The back door, if the alarm is off."),
]
WHOLE = [
    ("every three weeks", "Water it every three weeks."),
    ("Water it every three weeks.", "Water it every three weeks."),
    ("Anna", "It belongs to Anna."),
    ("1974", "It was made in 1974 by Orvex; never wash it."),
    ("red", "It is red, and it was never washed."),
    ("blue", "Water it every three weeks."),
    ("", "Water it every three weeks."),
]


@pytest.mark.parametrize(("answer", "sentence"), DROPPED)
def test_a_sentence_wins_over_a_part_of_it_without_its_qualifier(answer: str, sentence: str) -> None:
    found = note(f"It came from Gerda. {sentence} It likes the sun.")
    assert whole_sentence(answer, "How much?", found) == found[1]
    assert found[1].text == sentence


@pytest.mark.parametrize(("answer", "sentence"), WHOLE)
def test_an_answer_that_has_all_that_limits_it_stays(answer: str, sentence: str) -> None:
    assert whole_sentence(answer, "How much?", note(sentence)) is None


def test_a_sentence_that_is_too_long_to_be_said_does_not_win() -> None:
    assert whole_sentence("three weeks", "How much?", note(f"Water it every three weeks {'and so on ' * 12}.")) is None


@pytest.mark.parametrize("question", ["How many times a day does he get dry food?", "How often a day?"])
def test_what_the_question_says_itself_is_not_missing(question: str) -> None:
    assert whole_sentence("twice", question, note("He gets 120 g of dry food twice a day.")) is None
