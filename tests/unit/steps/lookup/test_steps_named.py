"""A query that names several things is shown a passage of each."""

from __future__ import annotations

import pytest

from quizglass.values import Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.named import each_first, names_another, titles_named

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
        ("Which is older, the Tagrin or the boat?", False),  # nothing of what it names was found
        ("", False),
    ],
)
def test_a_query_names_another_thing_beside_one_that_was_found(query: str, more: bool) -> None:
    assert names_another(query, [FIRST, SECOND]) == more


def test_the_best_passage_of_each_thing_comes_before_a_second_of_any() -> None:
    assert each_first(QUERY, [FIRST, SECOND, FAR, OTHER], 0.1) == [FIRST, OTHER, SECOND, FAR]


def test_a_thing_whose_best_passage_would_not_be_shown_takes_no_place() -> None:
    ranked = [FIRST, SECOND, OTHER]
    assert each_first(QUERY, ranked, 0.5) == ranked
    assert each_first("What does the Velmora cost?", ranked, 0.1) == ranked
