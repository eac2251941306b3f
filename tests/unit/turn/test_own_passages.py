"""What a recognised entry says of itself stands behind its caption."""

from __future__ import annotations

from quizglass_server.domain.turns import EvidenceFound, Origin
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
