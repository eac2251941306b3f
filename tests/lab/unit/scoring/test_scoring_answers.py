"""Judging answers."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_lab.scoring.answers import (
    conversation_outcomes,
    conversation_truthfulness,
    exact_match,
    normalise,
    overlap,
    refuses,
    token_accuracy,
    token_f1,
    truthfulness,
)
from quizglass_lab.scoring.intervals import confidence_interval, interval_of, wilson_interval


@pytest.mark.parametrize(
    ("given", "gold", "right"),
    [
        ("45 crowns", "45 crowns", True),
        ("The Velmora.", "Velmora", True),
        ("I don't know", "I don’t know", True),
        ("45", "45 crowns", False),
        ("Tagrin", "Velmora", False),
        ("1,234,567 people", "1234567 people", True),
        ("1,2 or 3", "12 or 3", False),
        ("a", "A.", True),
        ("", "A", False),
        ("The", "A", False),
    ],
)
def test_exact_match_ignores_case_articles_and_punctuation(given: str, gold: str, right: bool) -> None:
    assert exact_match(given, gold) is right


def test_an_alias_counts_as_right() -> None:
    assert exact_match("45", "45 crowns", ("45",))


def test_normalising_twice_changes_nothing() -> None:
    once = normalise("  The  Quick, brown-fox's  a  den ")
    assert normalise(once) == once
    assert normalise("?!") == ""


def test_f1_counts_shared_words() -> None:
    assert token_f1("Ana Brint", "Ana Velberg") == pytest.approx(0.5)
    assert token_f1("", "Ana") == token_f1("", "A") == 0.0
    assert token_f1("Ana", "Ben", ("Ana",)) == 1.0


def test_characters_are_the_words_of_chinese_and_japanese() -> None:
    said = "他出生于北京。"
    assert token_accuracy(said, "北京") == 1.0
    assert token_accuracy(said, "上海") == 0.0
    assert token_f1(said, "北京") == pytest.approx(2 * 2 / (6 + 2))
    assert overlap(said, "北京") == pytest.approx(2 / 6)
    assert token_accuracy("コアラは葉を食べます", "コアラ") == 1.0
    assert token_accuracy("alpha联谊会 1889 年", "alpha 1889年") == 1.0
    assert not exact_match(said, "北京")


def test_interval_holds_the_mean_and_narrows_with_more_scores() -> None:
    few, many = [1.0, 0.0] * 20, [1.0, 0.0] * 800
    wide, narrow = confidence_interval(few), confidence_interval(many)
    assert wide[0] < 0.5 < wide[1]
    assert narrow[1] - narrow[0] < wide[1] - wide[0]


def test_an_interval_of_many_scores_takes_little_memory() -> None:
    tracemalloc.start()
    try:
        confidence_interval([0.5, 1.0] * 5_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 << 20, "2,000 resamples of 10,000 scores at once would be 240 MB"


def test_interval_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="values"):
        confidence_interval([])


def test_token_accuracy_asks_how_much_of_the_gold_is_there_and_overlap_how_much_both_share() -> None:
    assert token_accuracy("it was built in 1889 by Eiffel", "built 1889") == 1.0
    assert token_accuracy("built", "built 1889", ("1887",)) == 0.5
    assert token_accuracy("", "") == 1.0
    assert overlap("built in 1889", "built 1889") == pytest.approx(2 / 3)
    assert overlap("", "?!") == 1.0


@pytest.mark.parametrize(
    ("answer", "refused"), [("I don't know", True), ("I don’t know.", True), (" ", True), ("They don't know.", False)]
)
def test_refusals(answer: str, refused: bool) -> None:
    assert refuses(answer) is refused


def test_truthfulness_is_the_contest_s() -> None:
    assert [truthfulness(right=r, refused=f) for r, f in ((True, False), (False, True), (False, False))] == [1, 0, -1]


def test_a_conversation_ends_after_two_failures_in_a_row() -> None:
    right, wrong = (True, False), (False, False)
    assert conversation_outcomes([wrong, wrong, right]) == [wrong, wrong, (False, True)], "as a refusal"
    assert conversation_truthfulness([right, wrong, right, wrong]) == 0.0
    assert conversation_truthfulness([wrong, wrong, right, right]) == -0.5
    with pytest.raises(ValueError, match="turns"):
        conversation_truthfulness([])


@given(st.integers(1, 400).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
def test_wilson_s_interval_holds_the_share_and_stays_within_0_and_1(hits_of: tuple[int, int]) -> None:
    hits, count = hits_of
    low, high = wilson_interval(hits, count)
    assert 0 <= low <= hits / count + 1e-12
    assert hits / count - 1e-12 <= high <= 1


def test_a_figure_of_several_means_has_an_interval_of_its_own() -> None:
    first, second = [[1.0]] * 30 + [[0.0]] * 10, [[0.0]] * 50 + [[1.0]] * 50
    low, high = interval_of(lambda one, two: (one + two) / 2, first, second)
    # Standard error: half of the root of 0.75 x 0.25 / 40 + 0.5 x 0.5 / 100, 0.0424.
    assert (low, high) == pytest.approx((0.625 - 1.96 * 0.0424, 0.625 + 1.96 * 0.0424), abs=0.01)
    same = [[float(number), float(number)] for number in range(1, 20)]
    assert interval_of(lambda one, two: one / two, same) == (1, 1), "columns of one question stay together"
    with pytest.raises(ValueError, match="groups: one has no questions"):
        interval_of(lambda one, two: one + two, first, [])


def test_intervals_of_many_questions_are_those_of_a_normal_mean() -> None:
    scores = [1.0, 0.25, 0.0, 0.0] * 5000
    half = 1.96 * (sum((score - 0.3125) ** 2 for score in scores) / 20_000) ** 0.5 / 20_000**0.5
    assert confidence_interval(scores) == pytest.approx((0.3125 - half, 0.3125 + half), abs=half / 10)
    same = [[score, score] for score in scores]
    low, high = interval_of(lambda one, two: one - two, same)
    assert (low, high) == pytest.approx((0, 0), abs=1e-9), "columns of one question stay together"
    assert confidence_interval([1.0] * 5000) == (1, 1)


def test_wilson_s_interval_by_the_book() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    with pytest.raises(ValueError, match="hits: 3 of 2"):
        wilson_interval(3, 2)


@given(st.text(max_size=30), st.text(max_size=30))
def test_shares_of_words_lie_between_0_and_1_and_agree_on_equal_texts(answer: str, gold: str) -> None:
    for share in (token_f1, token_accuracy, overlap):
        assert 0 <= share(answer, gold) <= 1
        assert share(gold, gold) == 1
