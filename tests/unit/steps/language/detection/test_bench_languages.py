"""The questions of forty languages, and how they are counted."""

from pathlib import Path

from bench.languages.__main__ import refused, share
from bench.languages.dataset import ENGLISH, OTHER, read


def test_forty_languages_have_a_hundred_questions_each_and_english_has_five_styles() -> None:
    other = read(OTHER)
    assert {tag: len(questions) for tag, questions in other.items() if len(questions) != 100} == {}
    assert (len(other), "en" in other) == (40, False)
    assert [len(questions) for questions in read(ENGLISH).values()] == [50] * 5


def test_parts_are_joined_and_comments_are_none(tmp_path: Path) -> None:
    (tmp_path / "few").write_text("# few\n[de] German\nWo ist {der Hund|die Katze}?\nPreis?\nPreis?\n\n[a style]\nx\n")
    few = read(tmp_path / "few")
    assert few == {"de": ("Wo ist der Hund?", "Wo ist die Katze?", "Preis?"), "a style": ("x",)}


def test_a_question_whose_intent_is_told_by_its_words_is_english() -> None:
    assert not refused("thx")
    assert share(("Wie alt ist das?", "How old is it?")) == 50.0


def test_the_shares_stay_what_was_measured() -> None:
    every = [question for questions in read(OTHER).values() for question in questions]
    assert share(every) >= 99.5
    assert share([question for questions in read(ENGLISH).values() for question in questions]) <= 1.0
