"""What a recognised entry says of itself stands behind its caption."""

from __future__ import annotations

from typing import Any

from quizglass.values import EvidenceFound, Origin
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.tools import Tools
from tests.support.scripted_policy import of
from tests.support.turn_fakes import World


async def seen(world: World, policy: str = "image") -> list[str]:
    """The texts of what the picture brought."""
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
