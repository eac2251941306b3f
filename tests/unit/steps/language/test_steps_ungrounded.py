"""What a text names that nothing told, and a question that a text says nothing of."""

import pytest

from quizglass_server.steps.language.naming import has_ungrounded_names, is_about_another, may_be_about

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


VIOLIN = (
    "Violin\nIt was made by Karl Herrmann in Markneukirchen in 1923. Ring Allianz if it breaks. PIN of the case: 12."
)


@pytest.mark.parametrize(
    ("question", "another"),
    [
        ("Who made the piano?", True),
        ("Who made the violin?", False),
        ("Who made my violins?", False),
        ("Who founded Tandex?", True),
        ("Who was Herrmann?", False),
        ("What is Karl's town?", False),
        ("Hello! Who made it?", False),
        ("What is the PIN?", False),
        ("What is Allianz's PIN at the bank?", True),  # nothing that it says "the" of
        ("When was the last time on a Sunday in May?", False),  # what is said of any thing names none
        ("Who made these?", False),
        ("Who builds violins?", False),  # neither a name nor "the"
        ("Which is the other one?", False),
        ("", False),
    ],
)
def test_a_question_is_about_another_thing_where_a_text_has_nothing_that_it_names(question: str, another: bool) -> None:
    assert is_about_another(question, VIOLIN) is another


@pytest.mark.parametrize(("asked", "told"), [("Wi-Fi", "wifi"), ("wifi", "Wi-Fi"), ("Wi-Fi", "Wi-fi")])
def test_a_hyphen_makes_no_other_thing(asked: str, told: str) -> None:
    assert not is_about_another(f"What is the {asked} password?", f"{told}: Sommer")
    assert not is_about_another(f"How does {asked} work?", f"{told}: Sommer")


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Where was the violin made?", True),
        ("Who was Herrmann?", True),
        ("Where do the violins break?", True),  # other forms of its words
        ("What is Herrmann's best violin?", True),
        ("What happens if the violin's case breaks?", True),  # three of four words
        ("Who sold the violin?", False),  # one of two
        ("Who made the piano?", False),
        ("Where do I ring if the violin breaks in the bank?", False),  # most words, but nothing of a bank
        ("Who made violins?", False),  # neither a name nor "the"
        ("When was the last time on a Sunday in May?", False),
        ("What is it called?", False),
        ("", False),
    ],
)
def test_a_question_may_be_about_a_text_that_has_what_it_names_and_most_of_its_words(
    question: str, about: bool
) -> None:
    assert may_be_about(question, VIOLIN) is about


@pytest.mark.parametrize(("asked", "told"), [("Wi-Fi", "wifi"), ("wifi", "Wi-Fi"), ("Wi-Fi", "Wi-fi")])
def test_a_hyphen_makes_no_other_subject(asked: str, told: str) -> None:
    assert may_be_about(f"What is the {asked} called?", f"{told}: Sommer")
