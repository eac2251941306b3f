"""What a turn offline reads of entries, beside what the server's turn does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizglass.values import Origin
from quizglass_lab.finetuning.asking.interface import MOST_TOKENS, Ask, Chosen, Written
from quizglass_lab.finetuning.asking.offline_turn import OfflineModels, OfflineTurn
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies import POLICIES

QUESTION = "How much does this cost?"
PASSAGES = (("tagrin", "It lies in Brenn."), ("velmora", "It costs 45 crowns."), ("velmora", "It dates from 1974."))


@dataclass
class Search:
    """Two entries, and the passages of both for any query."""

    asked: list[str] = field(default_factory=list)

    def image(self, picture: Path | None, limit: int) -> list[Evidence]:
        entries = [
            Evidence("1", Origin.IMAGE_SEARCH, "velmora", "Velmora", "A red car."),
            Evidence("2", Origin.IMAGE_SEARCH, "tagrin", "Tagrin", "A blue boat."),
        ]
        return entries[:limit]

    def text(self, queries: Sequence[str], limit: int) -> list[Evidence]:
        self.asked += queries
        return [
            Evidence(str(at), Origin.TEXT_SEARCH, entry, entry.title(), text)
            for at, (entry, text) in enumerate(PASSAGES[:limit], 3)
        ]

    def picture(self, evidence: Evidence) -> Path | None:
        return None


class Teller:
    """A model that says one thing, and keeps what it was asked."""

    name = "teller"
    parallel = 1

    def __init__(self) -> None:
        self.asks: list[Ask] = []

    def write(self, asks: Sequence[Ask], most_tokens: int = MOST_TOKENS) -> list[Written]:
        self.asks += asks
        return [Written("45 crowns", (), 100, 3, 2.0)] * len(asks)

    def choose(self, asks: Sequence[Ask], labels: Sequence[str]) -> list[Chosen]:
        return [Chosen((1.0, *[0.0] * (len(labels) - 1)), 80, 0.5)] * len(asks)

    def shows_entries(self, task: str) -> bool:
        return False


def turn(search: Search) -> OfflineTurn:
    nobody: Any = None  # no model is asked
    return OfflineTurn(OfflineModels(nobody, search), QUESTION, None)


def test_reading_entries_brings_passages_of_theirs_in_their_order() -> None:
    search = Search()
    one = turn(search)
    entries = asyncio.run(one.search_image(limit=2))
    assert [item.text for item in entries] == ["A red car.", "A blue boat."]
    assert one.reads_entries
    assert [item.text for item in asyncio.run(one.search_image())] == ["A red car."], "as many as bundles show"
    read = asyncio.run(one.read_entries(entries[::-1], "its price", 1))
    assert [item.text for item in read] == ["It lies in Brenn.", "It costs 45 crowns."]
    read = asyncio.run(one.read_entries(entries[:1], "its price"))
    assert [item.text for item in read] == ["It costs 45 crowns.", "It dates from 1974."]
    assert search.asked == ["its price"] * 2
    assert one.spent.calls == {"image_search": 2, "own_passages": 2}
    assert len(one.evidence) == 7


def test_prompts_have_the_words_that_are_known_to_stand_in_the_picture() -> None:
    teller = Teller()
    one = OfflineTurn(OfflineModels(teller, Search()), QUESTION, None, words="45 crowns")
    asyncio.run(one.answer(one.start()))
    assert [ask.values["words"] for ask in teller.asks] == ["45 crowns"]


def test_what_a_decider_reads_and_how_long_it_takes_is_spent_too() -> None:
    planner = Teller()
    one = OfflineTurn(OfflineModels(Teller(), Search(), {"planner": planner}), QUESTION, None)
    one.run(POLICIES["planning-agent"])
    assert one.spent.decisions == [("planner", "none")]
    assert (one.spent.prompt_tokens, one.spent.answer_tokens, one.spent.seconds) == (180, 3, 2.5)


def test_reading_no_entries_searches_nothing() -> None:
    search = Search()
    assert asyncio.run(turn(search).read_entries([], "its price")) == []
    assert search.asked == []


class Distracted(Teller):
    """A model that knows by heart what it says, beside no picture."""

    def write(self, asks: Sequence[Ask], most_tokens: int = MOST_TOKENS) -> list[Written]:
        super().write(asks, most_tokens)
        return [Written("I don't know" if ask.pictures else "Tandric", (0.9,), 100, 3, 2.0) for ask in asks]


def test_memory_is_asked_without_the_picture_where_that_stands_in_its_way() -> None:
    for question, recalled in (("Who made the Velmora?", "Tandric"), (QUESTION, "I don't know")):
        distracted = Distracted()
        one = OfflineTurn(OfflineModels(distracted, Search()), question, Path("seen.png"))
        assert asyncio.run(one.from_memory()).text == recalled
        assert {ask.values["question"] for ask in distracted.asks} == {question}
        assert one.spent.answer_tokens == 3 * len(distracted.asks)
