"""Right entries are found by any of their names: id, Wikidata item, address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_lab.scoring.retrieval import entry_key, names_one_of, recall_at

WIKI = "https://en.wikipedia.org/wiki/"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Q243", "http://www.wikidata.org/entity/Q243"),
        ("wd:Q243", "https://www.wikidata.org/wiki/Q243"),
        ("Q243", "https://www.wikidata.org/wiki/Special:EntityData/Q243.json"),
        (f"{WIKI}Acacia_paradoxa", "http://en.wikipedia.org/wiki/Acacia%20paradoxa"),
        (f"{WIKI}Acacia_paradoxa", "https://en.m.wikipedia.org/wiki/acacia_paradoxa#Description"),
        (f"{WIKI}Hawai%27i_(island)", f"{WIKI}Hawai'i_(island)"),
        (f"{WIKI}Caf%C3%A9", f"{WIKI}Café"),
        ("https://www.host.example/a/", "http://host.example/a"),
        ("tower", " tower "),
    ],
)
def test_names_of_one_entry_are_one(one: str, two: str) -> None:
    assert entry_key(one) == entry_key(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Q243", "Q2430"),
        (f"{WIKI}Tower", "https://de.wikipedia.org/wiki/Tower"),
        (f"{WIKI}Tower", f"{WIKI}Tower_(film)"),
        (f"{WIKI}Iris_(plant)", f"{WIKI}IRIS_(plant)"),
        ("https://host.example/page?id=1", "https://host.example/page?id=2"),
        ("tower", "Tower"),
        ("https://host.example/[", "https://host.example/"),
        ("http://[1", "http://[2"),
    ],
)
def test_names_of_two_entries_stay_two(one: str, two: str) -> None:
    assert entry_key(one) != entry_key(two)


@given(st.text())
def test_any_text_is_a_name_and_its_own(name: str) -> None:
    assert entry_key(entry_key(name)) == entry_key(name)
    assert names_one_of(["", name], [name]) == bool(name)


def test_recall_counts_entries_by_id_or_source() -> None:
    found = [("a", ""), ("b", f"{WIKI}Tower"), ("c", "https://www.wikidata.org/wiki/Q7")]
    assert [recall_at(found, {f"{WIKI}Tower", "x"}, within) for within in (1, 2, 3)] == [0, 1, 1]
    assert [recall_at(found, ["Q7"], within) for within in (2, 3)] == [0, 1]
    assert recall_at(found, {"a"}, 1) == 1
    assert recall_at([], {"a"}, 5) == 0
    with pytest.raises(ValueError, match="right: no entries"):
        recall_at(found, set(), 3)
    with pytest.raises(ValueError, match="within: 0"):
        recall_at(found, {"a"}, 0)
