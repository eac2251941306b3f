"""Whole turns with sources beside the store: mixed, cited, bounded, and shut where nothing may leave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quizglass.values import EvidenceFound, Plan, SkippedStep, TurnEvent
from quizglass_client import AsyncClient, AsyncSession
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import SourceFailed
from quizglass_server.knowledge.sources.guarded import GuardedSource, KnowledgeSources, Terms
from quizglass_server.knowledge.sources.protocol import Passage, PictureQuery, SourceError, TextQuery
from quizglass_server.knowledge.sources.searxng import opened
from quizglass_server.scheduling.clients import Client, asked_by
from tests.support.knowledge.searxng_server import SearxNgServer, dies, finds, hangs, searxng, sends
from tests.support.rpc_fakes import Stage, png, serve_stage
from tests.support.scripted_policy import of
from tests.support.turn_fakes import World, done, turn

PRICE = {
    "url": "https://cars.example/velmora",
    "title": "Velmora",
    "content": "The Velmora costs 45 crowns.",
}
BROKEN = {"hangs": hangs, "dies": dies, "lies": sends(b'{"results": "none"}'), "megabytes": sends(b" " * (2 << 20))}


class Fixed:
    """A source of another package."""

    remote = False

    def __init__(self, found: Any, error: BaseException | None = None) -> None:
        self.found = found
        self.error = error
        self.queries: list[Any] = []

    async def close(self) -> None:
        raise RuntimeError("it never closes well")

    async def _find(self, query: Any) -> Any:
        self.queries.append(query)
        if self.error is not None:
            raise self.error
        return self.found


class FixedTexts(Fixed):
    async def search_text(self, query: TextQuery, limit: int) -> Sequence[Passage]:
        found: Sequence[Passage] = await self._find(query)
        return found


class FixedPictures(Fixed):
    async def search_picture(self, query: PictureQuery, limit: int) -> Sequence[Passage]:
        found: Sequence[Passage] = await self._find(query)
        return found


def with_sources(world: World, *sources: GuardedSource) -> World:
    world.resources = replace(world.resources, sources=KnowledgeSources(sources))
    world.assistant = Assistant(world.resources)
    return world


def web(server: SearxNgServer, **terms: float) -> GuardedSource:
    return GuardedSource("web", "searxng", opened({"url": server.url}), Terms(**terms))


def evidence(events: Sequence[TurnEvent]) -> list[Any]:
    return [item for found in of(EvidenceFound, events) for item in found.items]


async def test_an_answer_of_a_source_is_cited_by_its_name_and_address() -> None:
    world = World()
    world.knowledge.chunks = []
    async with searxng(finds(PRICE)) as server:
        events = await with_sources(world, web(server)).ask()
    (cited,) = done(events).citations
    assert (cited.entry_id, cited.title) == ("web:https://cars.example/velmora", "Velmora")
    assert cited.source == "https://cars.example/velmora"
    assert done(events).answer == "45 crowns"
    assert server.asked[0]["q"] == ["How much does the Velmora cost?"]


async def test_an_empty_store_with_a_source_is_searched() -> None:
    world = World()
    world.knowledge.chunks, world.knowledge.entries = [], []
    async with searxng(finds(PRICE)) as server:
        events = await with_sources(world, web(server)).ask()
    assert done(events).answer == "45 crowns"
    assert {each.step for each in done(events).skipped} <= {"image_search"}


async def test_ranks_and_trust_choose_the_candidates_and_their_number_stays() -> None:
    world = World(text_candidates=3, found=3)
    world.models.decision = Plan.TEXT
    world.models.scores = {}
    found = [Passage(str(number), f"T{number}", f"Passage {number}.") for number in range(5)]
    source = GuardedSource("own", "fixed", FixedTexts(found), Terms(trust=0.5))
    await with_sources(world, source).ask()
    (reranked,) = world.models.calls.of("reranker")
    assert [passage.partition(": ")[2] for passage in reranked] == [
        "The Tagrin lies in Brenn.",
        "The Velmora costs 45 crowns.",
        "The Velmora was first made in 1974.",
    ]
    source = GuardedSource("own", "fixed", FixedTexts(found), Terms(trust=1.0))
    await with_sources(world, source).ask()
    reranked = world.models.calls.of("reranker")[-1]
    assert [passage.partition(": ")[2] for passage in reranked] == [
        "The Tagrin lies in Brenn.",
        "Passage 0.",
        "The Velmora costs 45 crowns.",
    ]


async def test_a_less_trusted_passage_has_to_be_more_probable() -> None:
    world = World(found=1)
    world.models.decision = Plan.TEXT
    world.models.scores = {"46 crowns": 0.95, "45 crowns": 0.9}
    lie = [Passage("1", "Velmora", "The Velmora costs 46 crowns.")]
    events = await with_sources(world, GuardedSource("own", "fixed", FixedTexts(lie), Terms(trust=0.5))).ask()
    (used,) = [item for item in evidence(events) if item.used]
    assert used.text == "The Velmora costs 45 crowns."


@pytest.mark.parametrize("how", BROKEN)
async def test_an_answer_is_given_without_a_source_that_fails_which_is_named(how: str) -> None:
    async with searxng(BROKEN[how]) as server:
        events = await with_sources(World(), web(server, budget_s=0.1)).ask()
    assert done(events).answer == "45 crowns"
    assert done(events).citations
    reason = "BUDGET" if how == "hangs" else "FAILED"
    assert [each for each in done(events).skipped if each.step.startswith("source")] == [
        SkippedStep("source.web", reason)
    ]


@pytest.mark.parametrize(
    "source",
    [
        FixedTexts(None),
        FixedTexts([{"id": "1"}]),
        FixedTexts([], SourceError("the disk is gone")),
        FixedTexts([], RuntimeError("How much does the Velmora cost?")),
    ],
    ids=["nothing", "no passages", "fails", "raises"],
)
async def test_whatever_another_packages_source_does_the_turn_goes_on(source: FixedTexts, caplog: Any) -> None:
    guarded = GuardedSource("own", "fixed", source, Terms())
    events = await with_sources(World(), guarded).ask()
    assert done(events).answer == "45 crowns"
    assert [each for each in done(events).skipped if each.step == "source.own"] == [SkippedStep("source.own", "FAILED")]
    assert "Velmora" not in caplog.text + guarded.status.notice
    await KnowledgeSources([guarded]).close()


async def test_a_source_that_fails_for_one_tenant_is_asked_for_the_others() -> None:
    source = FixedTexts([], SourceError("not for this one"))
    guarded = GuardedSource("mine", "fixed", source, Terms(cache_s=0))
    for _ in range(5):
        with asked_by(Client(tenant="loud")), pytest.raises(SourceFailed):
            await guarded.texts(TextQuery("What?"))
    assert len(source.queries) == 3, "then it is left alone"
    source.error = None
    with asked_by(Client(tenant="quiet")):
        assert guarded.status.ready
        assert await guarded.texts(TextQuery("What?")) == []
    with asked_by(Client(tenant="loud")), pytest.raises(SourceFailed):
        await guarded.texts(TextQuery("What?"))


async def test_a_source_of_pictures_is_handed_vectors_and_its_finds_are_evidence() -> None:
    world = World(image_accept=0.5)
    world.models.decision = Plan.IMAGE
    found = [
        Passage("a", "Arvel", "A tall lighthouse.", "https://w.example/a", 0.9),
        Passage("b", "Brim", "A low house.", score=0.4),
        Passage("c", "Cas", "A bridge."),
    ]
    source = FixedPictures(found)
    events = await with_sources(world, GuardedSource("seen", "fixed", source, Terms(trust=1.0))).ask()
    (query,) = source.queries
    vector: Vector = query.vectors[0]
    assert (vector.dtype, float(np.linalg.norm(vector))) == (np.float32, 1.0)
    assert [item.entry_id for item in evidence(events)] == ["velmora", "seen:a", "seen:c"]
    assert evidence(events)[1].source == "https://w.example/a"


# What may not leave


@asynccontextmanager
async def served(folder: Path, server: SearxNgServer, **settings: Any) -> AsyncIterator[Stage]:
    """A server whose assistant has a source that counts who comes: the canary."""
    world, source = World(), web(server)
    with_sources(world, source)
    stage = Stage(folder, **settings)
    stage.use(world.assistant, None)
    stage.services = replace(stage.services, sources=world.resources.sources)
    async with serve_stage(stage):
        yield stage


async def test_a_local_only_session_opens_no_socket_to_a_source(tmp_path: Path) -> None:
    async with searxng(finds(PRICE)) as server, served(tmp_path, server) as stage:
        async with AsyncSession(stage.target, local_only=True) as session:
            ended = (await session.answer("How much does this cost?", png())).done
        assert (ended.answer, server.connections) == ("45 crowns", 0)
        assert SkippedStep("source.web", "NOT_LOCAL") in ended.skipped
        assert not any(entry.elsewhere for entry in ended.ledger)
        async with AsyncSession(stage.target) as session:  # the canary sings where it may
            ended = (await session.answer("How much does this cost?", png())).done
        assert server.connections == 1
        (entry,) = [entry for entry in ended.ledger if entry.to == "source.web"]
        assert (entry.bytes, entry.elsewhere) == (len("How much does the Velmora cost?"), True)


async def test_local_only_of_the_operator_does_the_same_for_every_question() -> None:
    async with searxng(finds(PRICE)) as server:
        shut = GuardedSource("web", "searxng", opened({"url": server.url}), Terms(), open=False)
        events = await with_sources(World(), shut).ask()
    assert (done(events).answer, server.connections) == ("45 crowns", 0)
    assert SkippedStep("source.web", "NOT_LOCAL") in done(events).skipped


async def test_a_source_of_this_machine_is_asked_all_the_same() -> None:
    world = World()
    world.knowledge.chunks = []
    own = GuardedSource("notes", "fixed", FixedTexts([Passage("1", "Velmora", PRICE["content"])]), Terms())
    events = await with_sources(world, own).ask(replace(turn(), stays_here=True))
    assert [cited.source for cited in done(events).citations] == ["notes"]


async def test_capabilities_name_the_sources(tmp_path: Path) -> None:
    async with searxng(dies) as server, served(tmp_path, server) as stage, AsyncClient(stage.target) as client:
        (source,) = (await client.capabilities()).sources
        assert (source.name, source.kind, source.finds, source.remote) == ("web", "searxng", ("text",), True)
        assert (source.ready, source.notice) == (True, "")
        async with AsyncSession(stage.target) as session:
            await session.answer("How much does this cost?", png())
        (source,) = (await client.capabilities()).sources
        assert (source.ready, "left" in source.notice) == (False, True)
