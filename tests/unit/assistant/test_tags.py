"""What a tagger says of the picture reaches the prompts that name it, and costs the others nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from quizglass.values import Entry, EvidenceFound, Plan, StepEnded
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.domain.entries import ChunkHit
from quizglass_server.domain.turns import GenerationEnd, Picture, Token
from quizglass_server.errors import EngineFailed
from quizglass_server.roles.generator import GenerationRequest
from quizglass_server.roles.tagger import TAGGER
from tests.support.turn_fakes import Models, World, done, picture, turn

POINTING = "What does this animal eat?"
KOALA = Entry("koala", "koala", "", source="facts")


class Koalas:
    """A tagger that sees a koala, and perhaps a bear, everywhere."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.error: Exception | None = None

    async def tags(self, picture: Picture) -> list[tuple[str, float]]:
        self.asked.append(picture.sha256)
        if self.error is not None:
            raise self.error
        return [("koala", 0.8), ("bear", 0.1)]


class Naming(Models):
    """A generator that puts the first tag in place of "this animal" where nothing was recognised."""

    async def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        tags, seen = request.values["tags"], request.values["seen"]
        if tags and not seen:
            self.query = [str(request.values["question"]).replace("this animal", f"the {tags[0]}")]
        async for piece in super().generate(request):
            yield piece


@pytest.fixture
def world() -> World:
    world = World()
    world.models[TAGGER] = Koalas()
    return world


def asked_of(world: World) -> list[bytes]:
    assert isinstance(world.models[TAGGER], Koalas)
    return world.models[TAGGER].asked


def given(world: World, task: str) -> list[object]:
    return [request.values["tags"] for request in world.models.calls.of(task)]


@pytest.mark.parametrize("policy", ["none", "image", "text", "both", "planning-agent+", "prompt-based+"])
async def test_prompts_that_name_them_are_given_tags_once_a_picture(world: World, policy: str) -> None:
    for _ in range(2):
        events = await world.ask(policy=policy)
    assert given(world, "answer") == [["koala", "bear"]] * 2
    assert asked_of(world) == [picture().sha256]
    assert done(events).skipped == ()


async def test_nothing_is_tagged_where_no_prompt_names_tags_or_there_is_no_picture(world: World) -> None:
    await world.ask(turn(shown=False), "text")
    assert given(world, "answer") == [[]]
    world.models.needs = frozenset({"question", "seen", "words"})
    events = await world.ask(policy="both")
    assert asked_of(world) == []
    assert "tag" not in {timing.stage for timing in done(events).timings}


async def test_a_policy_that_asks_for_no_prompt_with_tags_does_without(world: World) -> None:
    world.models.names = lambda task: frozenset({"tags"} if task == "rewrite" else ())  # type: ignore[method-assign]
    await world.ask(policy="image")
    assert asked_of(world) == []
    await world.ask(policy="both")
    assert asked_of(world) == [picture().sha256]
    assert given(world, "rewrite") == [["koala", "bear"]]


async def test_what_it_may_be_is_said_where_no_prompt_names_tags() -> None:
    world = World(image_accept=0.9)
    world.models[TAGGER], world.models.needs, world.models.sees = Koalas(), frozenset({"question"}), False
    events = await world.ask(turn("What is this?"), "both")
    assert done(events).answer == "It may be a koala."
    assert asked_of(world) == [picture().sha256]


async def test_it_is_found_out_beside_the_embedding(world: World) -> None:
    tagging = asyncio.Event()

    class Noting(Koalas):
        async def tags(self, picture: Picture) -> list[tuple[str, float]]:
            tagging.set()
            return await super().tags(picture)

    world.models[TAGGER] = Noting()
    world.models.before["image_encoder"] = tagging.wait
    async with asyncio.timeout(120):
        await world.ask(policy="both")


async def test_a_planner_that_names_tags_decides_with_them(world: World) -> None:
    told = []

    class Planner:
        needs = frozenset({"tags"})
        shows_several = False

        async def look_at(self, picture: Picture) -> None:
            """There is nothing to do."""

        async def probabilities(self, pictures: object, values: dict[str, object]) -> list[tuple[str, float]]:
            told.append(values["tags"])
            return [(Plan.NONE.value, 1.0)]

    world.models.needs = frozenset()
    world.models.deciders["planner"] = Planner()
    await world.ask()
    assert told == [["koala", "bear"]]


async def test_a_tagger_for_which_there_is_no_time_is_named_and_not_waited_for(world: World) -> None:
    world.resources.costs.took("tag", 50.0, 1.0)
    events = await world.ask(budget_s=20.0, policy="both")
    assert given(world, "answer") == [[]]
    assert asked_of(world) == []
    assert [(skipped.step, skipped.reason) for skipped in done(events).skipped] == [("tag", "BUDGET")]


async def test_a_tagger_that_fails_is_named_and_the_turn_goes_on(world: World) -> None:
    assert isinstance(world.models[TAGGER], Koalas)
    world.models[TAGGER].error = EngineFailed("broken")
    events = await world.ask(policy="both")
    assert done(events).answer == "45 crowns"
    assert given(world, "answer") == [[]]
    assert [(skipped.step, skipped.reason) for skipped in done(events).skipped] == [("tag", "FAILED")]


async def test_an_explained_turn_tells_of_tags_and_of_who_was_shown_them(world: World) -> None:
    events = await world.ask(replace(turn(), explain=True), "both")
    steps = [event for event in events if isinstance(event, StepEnded)]
    (tag,) = [each for each in steps if each.name == "tag"]
    assert [(detail.text, detail.score) for detail in tag.outputs] == [("koala", 0.8), ("bear", 0.1)]
    (rewrite,) = [each for each in steps if each.name == "rewrite"]
    assert [detail.text for detail in rewrite.inputs if detail.label == "tags"] == ["koala", "bear"]


async def test_a_guess_is_no_evidence(world: World) -> None:
    events = await world.ask(policy="none")
    assert not [event for event in events if isinstance(event, EvidenceFound)]


async def test_a_frame_that_is_looked_at_ahead_is_tagged_for_the_turn(world: World) -> None:
    steps = [step async for step in world.assistant.look_ahead(picture())]
    assert steps == ["read", "embed", "tag", "prepare"]
    await world.ask(policy="both")
    assert asked_of(world) == [picture().sha256]
    world.models.needs = frozenset({"question"})
    looks = LookAhead(world.assistant)
    looks.add("a session", picture(2))
    assert looks._worker is not None
    await looks._worker
    assert asked_of(world) == [picture().sha256]


@pytest.mark.parametrize(
    ("policy", "plan"),
    [("both", Plan.NONE), *(("planning-agent+", plan) for plan in (Plan.BOTH, Plan.TEXT, Plan.IMAGE))],
)
async def test_what_the_store_has_no_picture_of_is_found_by_the_name_that_the_tagger_gives_it(
    policy: str, plan: Plan
) -> None:
    world = World(image_accept=0.9)
    world.models = Naming()
    world.resources = replace(world.resources, models=world.models)
    world.assistant = Assistant(world.resources)
    world.models[TAGGER], world.models.decision = Koalas(), plan
    eats = ChunkHit(KOALA, "The koala eats eucalyptus leaves.", 0.9)

    async def search_texts(vector: object, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
        return [eats] if "koala" in words else []

    world.knowledge.search_texts = search_texts  # type: ignore[method-assign]
    world.models.scores = {"eucalyptus": 0.9}
    await world.ask(turn(POINTING), policy)
    (answered,) = world.models.calls.of("answer")
    assert answered.values["query"] == "What does the koala eat?"
    assert (answered.values["seen"], answered.values["found"]) == ([], ["koala: The koala eats eucalyptus leaves."])
