"""Entries whose pictures match alike are distinguished by appearance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import Origin
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.alike import match_alike, rerank_by_appearance


def entry(title: str, text: str, score: float) -> Evidence:
    return Evidence("", Origin.IMAGE_SEARCH, title.lower(), title, text, search_score=score)


RED, BLUE = entry("Velmora", "A red car.", 0.9), entry("Tagrin", "A blue car.", 0.9)
NEAR, FAR = entry("Ozric", "A blue car, built by Brenn.", 0.896), entry("Orvex", "A blue car.", 0.8)


@pytest.mark.parametrize(
    ("look", "order"),
    [
        ("blue car", [BLUE, NEAR, RED, FAR]),
        ("The picture shows red cars.", [RED, BLUE, NEAR, FAR]),
        ("a car built by Brenn", [NEAR, RED, BLUE, FAR]),
        ("a green boat", [RED, BLUE, NEAR, FAR]),
        ("", [RED, BLUE, NEAR, FAR]),
    ],
)
def test_of_entries_that_match_alike_those_that_say_what_is_seen_come_first(look: str, order: list[Evidence]) -> None:
    assert rerank_by_appearance([RED, BLUE, NEAR, FAR], look) == order


def test_those_that_match_worse_stay_behind_whatever_they_say() -> None:
    assert match_alike([RED, NEAR, FAR, BLUE]) == [RED, NEAR], "a rank counts for more than a cosine"
    assert match_alike([FAR, RED, NEAR]) == [FAR]
    assert rerank_by_appearance([RED, FAR], "blue car") == [RED, FAR]
    assert match_alike([]) == []


@given(
    st.lists(st.tuples(st.sampled_from(["red car", "blue car", "boat", ""]), st.floats(0, 1)), max_size=6),
    st.text(max_size=20),
)
def test_no_entry_is_lost_and_none_that_matches_worse_goes_first(found: list[tuple[str, float]], look: str) -> None:
    entries = [entry(f"Thing{at}", text, score) for at, (text, score) in enumerate(found)]
    ranked = rerank_by_appearance(entries, look)
    assert sorted(each.entry_id for each in ranked) == sorted(each.entry_id for each in entries)
    assert ranked[: len(match_alike(entries))] == sorted(match_alike(entries), key=ranked.index)
