"""A query that names several things is shown a passage of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quizglass.values import Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.named import interleave_by_title, names_another, split_by_named_title, titles_named

QUERY = "Which costs more, the Velmora or the Tall Tagrin?"


def passage(title: str, probability: float, text: str = "") -> Evidence:
    return Evidence("", Origin.TEXT_SEARCH, title.lower(), title, text or str(probability), rerank_score=probability)


FIRST, SECOND = passage("Velmora", 0.9), passage("Velmora", 0.8)
OTHER, FAR = passage("Tall Tagrin", 0.4), passage("Brenn", 0.2)


def test_titles_count_where_all_of_their_words_stand_in_the_query() -> None:
    assert titles_named(QUERY, [FAR, OTHER, FIRST, SECOND]) == ["Tall Tagrin", "Velmora"]
    assert titles_named("What does the Velmoran cost?", [FIRST]) == []


@pytest.mark.parametrize(
    ("query", "more"),
    [
        (QUERY, True),
        ("What does the Velmora cost?", False),
        ("Velmora. Who made it?", False),
        ("Was the Velmora built in 1990?", False),
        ("Which is older, the Tagrin or the boat?", False),  # nothing that it names was found
        ("", False),
    ],
)
def test_a_query_names_another_thing_beside_one_that_was_found(query: str, more: bool) -> None:
    assert names_another(query, [FIRST, SECOND]) == more


def test_the_best_passage_of_each_thing_comes_before_a_second_of_any() -> None:
    assert interleave_by_title(QUERY, [FIRST, SECOND, FAR, OTHER], 0.1) == [
        FIRST,
        replace(OTHER, rerank_score=0.9),
        SECOND,
        FAR,
    ]


def test_half_an_answer_counts_as_much_as_the_other_half() -> None:
    first, other, *_ = interleave_by_title(QUERY, [FIRST, SECOND, OTHER], 0.5)
    assert (first, other) == (FIRST, replace(OTHER, rerank_score=0.9))


def test_a_thing_that_nothing_tells_of_takes_no_place() -> None:
    ranked = [FIRST, SECOND, passage("Tall Tagrin", 0.001)]
    assert interleave_by_title(QUERY, ranked, 0.5) == ranked
    assert interleave_by_title(QUERY, [FIRST, SECOND, OTHER], 0.95) == [FIRST, SECOND, OTHER]
    assert interleave_by_title("What does the Velmora cost?", [FIRST, SECOND, OTHER], 0.1) == [FIRST, SECOND, OTHER]


def test_passages_about_another_name_than_the_query_has_are_left_out() -> None:
    alike = passage("Velmorandis", 0.95, "The Velmorandis costs 9 crowns.")
    mentions = passage("Brenn", 0.5, "The Velmora lies here.")
    linked = replace(passage("Harrow", 0.7), via=FIRST)
    ranked = [alike, FIRST, linked, mentions, FAR]
    assert split_by_named_title("What does the Velmora cost?", ranked, 0.6) == ([FIRST, linked, mentions], [alike, FAR])


@pytest.mark.parametrize("query", ["What does the boat cost?", "What does the Brenn cost?"])
def test_where_nothing_tells_of_what_is_named_all_passages_stay(query: str) -> None:
    assert split_by_named_title(query, [FIRST, OTHER, FAR], 0.6) == ([FIRST, OTHER, FAR], [])
