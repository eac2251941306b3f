"""What a recognised entry says of itself stands behind its caption; how many passages of a search are reranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from quizglass.values import EvidenceFound, Origin
from quizglass_server.domain.entries import ChunkHit
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Evidence, Vector
from quizglass_server.errors import EngineFailed
from quizglass_server.policies.tools import Tools
from tests.support.scripted_policy import of
from tests.support.turn_fakes import CHUNKS, VELMORA, World


async def seen(world: World, policy: str = "image") -> list[str]:
    """The texts that the picture search brought."""
    told = [event for event in await world.ask(policy=policy) if isinstance(event, EvidenceFound)]
    return [item.text for event in told for item in event.items if item.origin is Origin.IMAGE_SEARCH]


async def test_the_captions_stand_alone_unless_the_bundle_says_otherwise() -> None:
    world = World()
    assert await seen(world) == [hit.entry.caption for hit in world.knowledge.entries]
    assert world.knowledge.searches == ["image"]


async def test_own_passages_stand_behind_the_caption_of_entries_that_are_shown() -> None:
    world = World(own_passages=2, seen=1)
    first, second = world.knowledge.entries
    own = [chunk.text for chunk in world.knowledge.chunks if chunk.entry.id == first.entry.id][:2]
    assert own
    assert await seen(world) == [" ".join([first.entry.caption, *own]), second.entry.caption]


async def test_an_entry_without_passages_has_its_caption() -> None:
    world = World(own_passages=2, seen=2)
    world.knowledge.chunks = []
    assert await seen(world) == [hit.entry.caption for hit in world.knowledge.entries]


async def test_the_generator_reads_them() -> None:
    world = World(own_passages=1)
    (shown,) = [item for item in world.knowledge.chunks if item.entry.id == world.knowledge.entries[0].entry.id][:1]
    await world.ask(policy="image")
    assert any(shown.text in line for line in world.models.calls.of("answer")[-1].values["seen"])


async def test_a_policy_reads_what_the_entry_that_it_chose_tells(ask: Any) -> None:
    world = World(found=2)
    told: list[list[Evidence]] = []

    async def run(tools: Tools) -> Draft:
        entries = await tools.search_image(limit=2, candidates=True)
        chosen = entries[1:]
        told.append(await tools.read_entries(chosen, "its price", 1))
        told.append(await tools.read_entries(chosen, "its price"))
        told.append(await tools.read_entries([], "its price"))
        return await tools.answer(tools.start().having(told[1]))

    events = await ask(world, run)
    entry = world.knowledge.entries[1].entry
    own = [chunk.text for chunk in world.knowledge.chunks if chunk.entry.id == entry.id][:2]
    assert [[item.text for item in items] for items in told] == [own[:1], own, []]
    assert all((item.origin, item.entry_id, item.used) == (Origin.TEXT_SEARCH, entry.id, True) for item in told[1])
    shown = [item.text for event in of(EvidenceFound, events) for item in event.items if item.used]
    assert shown == own
    assert [line.partition(": ")[2] for line in world.models.calls.of("answer")[-1].values["found"]] == own


async def test_what_stands_behind_the_caption_is_not_read_again(ask: Any) -> None:
    world = World(own_passages=1)
    read: list[Evidence] = []

    async def run(tools: Tools) -> Draft:
        read.extend(await tools.read_entries(await tools.search_image(), "its price"))
        return Draft()

    await ask(world, run)
    assert read == []


def _three_of_four(world: World, scores: dict[str, float]) -> list[list[str]]:
    """A search that brings four passages, reranked by the words in them; what the reranker is given, run by run."""
    given: list[list[str]] = []

    async def search_texts(vector: Vector, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
        return [*CHUNKS[:3], ChunkHit(VELMORA, "It is red.", 0.1)]

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        given.append([passage.partition(": ")[2] for passage in passages])
        return [next((score for word, score in scores.items() if word in passage), 0.1) for passage in passages]

    world.knowledge.search_texts = search_texts  # type: ignore[method-assign]
    world.models.score = score  # type: ignore[method-assign]
    return given


async def test_where_one_of_the_first_passages_surely_answers_the_others_are_told_of_and_not_reranked(ask: Any) -> None:
    world, shown = World(text_candidates=4, rerank_first=3, found=3, rerank_accept=0.5), list[str]()
    given = _three_of_four(world, {"45": 0.96, "red": 0.99})

    async def run(tools: Tools) -> Draft:
        shown.extend(item.text for item in await tools.search_text(["What does it cost?"]))
        return Draft()

    (told,) = of(EvidenceFound, await ask(world, run))
    assert given == [[chunk.text for chunk in CHUNKS[:3]]]
    assert shown == [chunk.text for chunk in CHUNKS[:3] if "45" in chunk.text]
    assert [(item.used, item.rerank_score) for item in told.items if item.text == "It is red."] == [(False, 0.0)]
    assert len(told.items) == 4


@pytest.mark.parametrize(
    ("query", "cost"), [("What colour is it?", 0.9), ("Is the Velmora as red as the Tagrin?", 0.97)]
)
async def test_passages_beyond_the_first_are_reranked_where_those_do_not_tell_all(
    ask: Any, query: str, cost: float
) -> None:
    world, shown = World(text_candidates=4, rerank_first=3, found=3, rerank_accept=0.5), list[str]()
    given = _three_of_four(world, {"45": cost, "red": 0.95})

    async def run(tools: Tools) -> Draft:
        shown.extend(item.text for item in await tools.search_text([query]))
        return Draft()

    await ask(world, run)
    assert given == [[chunk.text for chunk in CHUNKS[:3]], ["It is red."]]
    assert "It is red." in shown


async def test_as_many_passages_as_are_to_be_shown_are_reranked_at_once(ask: Any) -> None:
    world = World(text_candidates=4, rerank_first=1, found=1)
    given = _three_of_four(world, {"": 0.99})

    async def run(tools: Tools) -> Draft:
        await tools.search_text(["q"])
        await tools.search_text(["q"], limit=3)
        return Draft()

    await ask(world, run)
    assert [len(passages) for passages in given] == [1, 3]


async def test_without_time_for_the_others_the_first_passages_stay_reranked(ask: Any) -> None:
    world, shown = World(text_candidates=4, rerank_first=3, found=2), list[float]()
    given = _three_of_four(world, {})
    reranks = world.models.score

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        if given:
            raise EngineFailed("broken")
        return await reranks(query, passages)

    world.models.score = score  # type: ignore[method-assign]

    async def run(tools: Tools) -> Draft:
        shown.extend(item.rerank_score for item in await tools.search_text(["q"]))
        return Draft()

    await ask(world, run)
    assert shown == [0.1, 0.1]
