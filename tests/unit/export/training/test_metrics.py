"""Judging answers."""

import pytest

from quizglass_export.metrics import confidence_interval, exact_match, normalise, token_f1


@pytest.mark.parametrize(
    ("given", "gold", "right"),
    [
        ("45 crowns", "45 crowns", True),
        ("The Velmora.", "Velmora", True),
        ("I don't know", "I don’t know", True),
        ("45", "45 crowns", False),
        ("Tagrin", "Velmora", False),
    ],
)
def test_exact_match_ignores_case_articles_and_punctuation(given: str, gold: str, right: bool) -> None:
    assert exact_match(given, gold) is right


def test_an_alias_counts_as_right() -> None:
    assert exact_match("45", "45 crowns", ("45",))


def test_normalising_twice_changes_nothing() -> None:
    once = normalise("  The  Quick, brown-fox's  a  den ")
    assert normalise(once) == once


def test_f1_counts_shared_words() -> None:
    assert token_f1("Ana Brint", "Ana Velberg") == pytest.approx(0.5)
    assert token_f1("", "Ana") == 0.0
    assert token_f1("Ana", "Ben", ("Ana",)) == 1.0


def test_interval_holds_the_mean_and_narrows_with_more_scores() -> None:
    few, many = [1.0, 0.0] * 20, [1.0, 0.0] * 800
    wide, narrow = confidence_interval(few), confidence_interval(many)
    assert wide[0] < 0.5 < wide[1]
    assert narrow[1] - narrow[0] < wide[1] - wide[0]


def test_interval_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="values"):
        confidence_interval([])
