"""One ranking out of several."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.knowledge.sources.mixing import mixed

RANKINGS = st.lists(st.tuples(st.floats(0.01, 1), st.lists(st.text("abcdef", max_size=2), max_size=6)), max_size=4)


def same(item: str) -> str:
    return item


def test_the_first_of_a_half_trusted_source_stands_behind_the_stores_third() -> None:
    assert mixed([(1.0, ["s1", "s2", "s3", "s4"]), (0.5, ["w1", "w2"])], same) == ["s1", "s2", "s3", "w1", "s4", "w2"]


def test_equally_trusted_sources_take_turns() -> None:
    assert mixed([(1.0, ["s1", "s2"]), (1.0, ["w1", "w2"])], same) == ["s1", "w1", "s2", "w2"]


def test_what_two_of_them_found_goes_before_what_either_found_alone() -> None:
    assert mixed([(1.0, ["a", "both"]), (1.0, ["b", "both"])], same) == ["both", "a", "b"]


def test_one_that_repeats_itself_gains_nothing() -> None:
    assert mixed([(1.0, ["s1"]), (0.4, ["w1", "w1", "w1", "w1"])], same) == ["s1", "w1"]


@given(RANKINGS)
def test_everything_is_there_once(rankings: list[tuple[float, list[str]]]) -> None:
    found = mixed(rankings, same)
    assert sorted(found) == sorted({item for _, items in rankings for item in items})


@given(st.lists(st.text("abcdef", max_size=2), unique=True))
def test_one_ranking_alone_stays_as_it_is(ranking: list[str]) -> None:
    assert mixed([(0.3, ranking)], same) == ranking
