"""Following names: from a passage to what the entries that it names say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from quizglass.values import Entry, Origin, SearchMode
from quizglass_server.domain.entries import ChunkHit, SearchOptions
from quizglass_server.domain.turns import Evidence, Vector
from quizglass_server.scheduling.ledger import ByteLedger, entered_in
from quizglass_server.steps.lookup.links import answered, follow_links, names, whole_line, with_links, with_sources
from quizglass_server.steps.lookup.text_search import text_evidence

TEXTS = {
    "Velmora": ("The Velmora was made by Orin Works. It is red.", "The Velmora costs 45 crowns."),
    "Orin Works": ("Orin Works comes from Harrow.", "Ana Bex founded Orin Works."),
    "Ana Bex": ("Ana Bex was born in 1901.",),
    "Harrow": ("Harrow is known for its bread.",),
    "Tagrin": ("The Tagrin costs 12 crowns.",),
}
CHUNKS = [ChunkHit(Entry(title.lower(), title), text, 0.5) for title, texts in TEXTS.items() for text in texts]


def passage(title: str, nth: int = 0) -> Evidence:
    (found,) = text_evidence([ChunkHit(Entry(title.lower(), title), TEXTS[title][nth], 0.5)])
    return found


class Store:
    """Answers with the chunks of the titles asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Vector | None, SearchOptions]] = []

    async def search_texts(
        self, vector: Vector | None, limit: int, words: str = "", finding: SearchOptions | None = None
    ) -> list[ChunkHit]:
        assert finding is not None
        self.asked.append((vector, finding))
        found = [chunk for chunk in CHUNKS if chunk.entry.title in finding.titles]
        if finding.per_entry and vector is not None:
            found = list({chunk.entry.id: chunk for chunk in reversed(found)}.values())[::-1]
        return found[:limit]


class Encoder:
    """Embeds anything as the same."""

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        return [np.ones(2, np.float32) for _ in texts]


def path(passage: Evidence | None) -> list[str]:
    return [] if passage is None else [*path(passage.via), passage.title]


async def follow(query: str, *passages: Evidence, limit: int = 9) -> list[Evidence]:
    return await follow_links(Store(), Encoder(), query, passages, limit)  # type: ignore[arg-type]


async def test_names_lead_from_passage_to_passage() -> None:
    linked = await follow("Where does the maker of it come from?", passage("Velmora"))
    assert [path(each) for each in linked] == [
        ["Velmora", "Orin Works"],
        ["Velmora", "Orin Works"],
        ["Velmora", "Orin Works", "Ana Bex"],
        ["Velmora", "Orin Works", "Harrow"],
    ]
    assert linked[3].text == "Harrow is known for its bread."


async def test_the_one_thing_that_a_query_names_and_no_passage_is_about_brings_its_own() -> None:
    linked = await follow("Where does the maker of the Velmora come from?", passage("Tagrin"))
    assert [path(each) for each in linked][:4] == [
        ["Velmora"],
        ["Velmora"],
        ["Velmora", "Orin Works"],
        ["Velmora", "Orin Works"],
    ]


async def test_each_of_several_things_that_a_query_names_brings_its_own_passages() -> None:
    linked = await follow("Which costs more, the Velmora or the Tagrin?", passage("Velmora", 1))
    assert [path(each) for each in linked if each.via is None] == [["Velmora"], ["Velmora"], ["Tagrin"]]
    assert ["Velmora", "Orin Works"] in [path(each) for each in linked]


async def test_one_thing_that_a_query_names_brings_no_more_of_its_own() -> None:
    store = Store()
    for encoder in (Encoder(), None):
        linked = await follow_links(store, encoder, "What does the Tagrin cost?", [passage("Tagrin")], 9)  # type: ignore[arg-type]
        assert linked == []


async def test_only_what_the_query_names_leads_on_where_that_is_found() -> None:
    linked = await follow("What does the Tagrin cost?", passage("Velmora"), passage("Tagrin"))
    assert linked == []
    linked = await follow("Who founded the maker of the Velmora?", passage("Tagrin"), passage("Velmora"))
    assert path(linked[0]) == ["Velmora", "Orin Works"]


async def test_where_nothing_is_named_nothing_is_searched() -> None:
    store = Store()
    unnamed = Evidence("", Origin.TEXT_SEARCH, "e", "Thing", "it is just a thing.")
    assert await follow_links(store, Encoder(), "what is it?", [unnamed], 9) == []  # type: ignore[arg-type]
    assert store.asked == []


async def test_without_an_encoder_names_are_followed_by_words() -> None:
    store = Store()
    assert await follow_links(store, None, "what?", [passage("Velmora")], 9)
    assert {(vector, options.mode) for vector, options in store.asked} == {(None, SearchMode.KEYWORDS)}


async def test_a_link_brings_no_more_than_is_asked_for() -> None:
    linked = await follow("what?", passage("Velmora"), limit=1)
    assert [path(each) for each in linked] == [["Velmora", "Orin Works"], ["Velmora", "Orin Works", "Harrow"]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It was made by Ana Bex.", {"It", "Ana", "Bex", "Ana Bex", "It was made by Ana"}),
        ("the bridge of Sighs and Tears", {"Sighs", "Tears", "Sighs and Tears"}),
        ("built in 1901", {"1901"}),
        ("nothing here", set()),
        ("", set()),
    ],
)
def test_a_name_begins_and_ends_with_a_capital_or_a_digit(text: str, found: set[str]) -> None:
    assert set(names(text)) == found


async def test_a_reranker_reads_a_passage_behind_the_sentences_that_lead_to_it() -> None:
    *_, harrow = await follow("what?", passage("Velmora"))
    assert whole_line(harrow) == (
        "Velmora: The Velmora was made by Orin Works. "
        "Orin Works: Orin Works comes from Harrow. "
        "Harrow: Harrow is known for its bread."
    )
    assert whole_line(passage("Velmora")) == "Velmora: The Velmora was made by Orin Works. It is red."


async def test_what_is_found_both_ways_is_taken_as_it_was_linked() -> None:
    direct = [passage("Velmora"), passage("Harrow"), passage("Tagrin")]
    linked = await follow("what?", direct[0])
    together = [path(each) for each in with_links(direct, linked)]
    assert together == [["Velmora"], ["Tagrin"], *map(path, linked)]
    assert with_links(direct, []) == direct


def test_a_passage_that_is_likelier_right_than_not_answers_by_itself() -> None:
    for score, accept, enough in ((0.4, 0.1, False), (0.5, 0.1, True), (0.6, 0.7, False), (0.7, 0.7, True)):
        assert answered([passage("Tagrin"), replace(passage("Velmora"), rerank_score=score)], accept) is enough
    assert not answered([], 0.0)


async def test_what_leads_to_a_passage_comes_behind_it_and_counts_as_much() -> None:
    *_, harrow = await follow("what?", passage("Velmora"))
    ranked = [replace(harrow, rerank_score=0.9), replace(passage("Velmora"), rerank_score=0.1), passage("Tagrin")]
    shown = [(each.title, each.rerank_score) for each in with_sources(ranked)]
    assert shown == [("Harrow", 0.9), ("Orin Works", 0.9), ("Velmora", 0.9), ("Tagrin", 0.0)]
    first = [replace(passage("Velmora"), rerank_score=0.95), replace(harrow, rerank_score=0.9)]
    assert [each.title for each in with_sources(first)] == ["Velmora", "Harrow", "Orin Works"]


async def test_what_is_handed_to_the_store_is_counted() -> None:
    ledger = ByteLedger()
    with entered_in(ledger):
        await follow("Who made the Velmora?", passage("Velmora"))
    assert ledger.settle()["knowledge"] > len("Who made the Velmora?")
