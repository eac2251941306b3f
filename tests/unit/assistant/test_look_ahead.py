"""Looking at a picture before there is a question: what it leaves, and whom it gives way to."""

import asyncio
from dataclasses import replace

import pytest

from quizglass.values import Region
from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.domain.regions import Detection
from quizglass_server.roles.detector import DETECTOR
from quizglass_server.roles.domain_router import DOMAIN_ROUTER
from quizglass_server.roles.reader import READER
from quizglass_server.scheduling.allowances import Allowance, Quota, allowed
from quizglass_server.scheduling.clients import Client, asked_by
from tests.support.gate import Gate
from tests.support.turn_fakes import World, picture, turn

WORLD_S = 120.0


@pytest.fixture
async def world():
    world = World()
    world.models.lines = ["VELMORA"]
    return world


@pytest.fixture
async def looks(world):
    looks = LookAhead(world.assistant)
    yield looks
    await looks.close()


async def over(looks):
    async with asyncio.timeout(WORLD_S):
        await asyncio.wait({looks._worker})


async def test_what_was_looked_at_is_not_done_again_by_the_turn(world, looks):
    looks.add("a session", picture())
    await over(looks)
    calls = world.models.calls
    assert [role for role, _ in calls.made] == ["gate", "reader", "image_encoder", "prepare"]
    calls.made.clear()
    await world.ask(turn("How much does this cost?"), "both")
    assert calls.of("reader") == calls.of("image_encoder") == []


async def test_the_generator_is_told_the_words_with_the_picture(world, looks):
    looks.add("a session", picture())
    await over(looks)
    assert world.models.prepared_with == {"words": "VELMORA", "tags": [], "domain": ""}


async def test_a_picture_without_words_is_judged_once(world, looks):
    world.models.lettered = None
    looks.add("a session", picture())
    await over(looks)
    await world.ask(turn("How much does this cost?"), "both")
    assert world.models.calls.of("gate") == [picture().sha256]


async def test_the_gate_says_of_a_picture_once_where_there_may_be_words(world, looks):
    looks.add("a session", picture())
    await over(looks)
    for _ in range(2):
        assert await world.assistant.text_regions(picture()) == [world.models.lettered]
    assert await world.assistant.text_regions(picture(2)) == [world.models.lettered]
    assert world.models.calls.of("gate") == [picture().sha256, picture(2).sha256]
    world.models[READER] = None
    assert await world.assistant.text_regions(picture(3)) is None


async def test_nothing_is_done_that_only_a_question_can_be_asked_of(world, looks):
    asked = []

    class Asked:
        async def domains(self, picture, question):
            asked.append("domain")

        async def detect(self, picture, phrases, least_score):
            asked.append("detect")

        async def guess(self, picture, least_score, each):
            asked.append("guess")
            return []

    world.models[DOMAIN_ROUTER] = world.models[DETECTOR] = Asked()
    looks.add("a session", picture())
    await over(looks)
    assert [role for role, _ in world.models.calls.made] == ["gate", "reader", "prepare"]  # boxes are looked up then
    assert asked == ["guess"]


async def test_what_was_lately_asked_about_is_embedded_and_not_again_by_the_turn(world, looks):
    car, boat = (
        Detection(Region(left, 0.0, left + 0.5, 0.5), 0.9, name) for left, name in ((0.0, "car"), (0.5, "boat"))
    )

    class Boxes:
        async def guess(self, picture, least_score, each):
            return [car, boat, Detection(car.region, 0.5, "thing")]

        async def detect(self, picture, phrases, least_score):
            return [each for each in (car, boat) if each.phrase in phrases]

    world.models[DETECTOR] = Boxes()
    looks.add("a session", picture())
    await over(looks)
    assert [len(parts) for parts in world.models.calls.of("image_encoder")] == [2]
    await world.ask(turn("How much does this boat cost?"), "image")
    assert len(world.models.calls.of("image_encoder")) == 1


async def test_a_detector_that_fails_costs_a_picture_nothing_else(world, looks):
    class Broken:
        async def guess(self, picture, least_score, each):
            raise RuntimeError("no")

    world.models[DETECTOR] = Broken()
    looks.add("a session", picture())
    await over(looks)
    assert world.models.calls.of("prepare")


async def test_nothing_is_looked_at_while_a_turn_runs(world, looks):
    async with world.assistant.admission.admit():
        looks.add("a session", picture())
        await asyncio.sleep(0)
        assert world.models.calls.made == []
    await over(looks)
    assert world.models.calls.of("reader")


async def test_a_turn_about_another_picture_ends_it(world, looks):
    gate = Gate()
    world.models.before["reader"] = gate
    looks.add("a session", picture())
    await gate.reached.wait()
    await looks.give_way(b"another")
    await over(looks)
    assert world.models.cancelled == ["reader"]


async def test_a_turn_about_the_same_picture_waits_for_the_step_under_way_alone(world, looks):
    gate = Gate()
    world.models.before["reader"] = gate
    looks.add("a session", picture())
    await gate.reached.wait()
    turn_begins = asyncio.create_task(looks.give_way(picture().sha256))
    await asyncio.sleep(0)
    assert not turn_begins.done()
    gate.open.set()
    async with asyncio.timeout(WORLD_S):
        await turn_begins
    await over(looks)
    assert world.models.calls.of("reader")
    assert world.models.calls.of("prepare") == []


async def test_a_turn_does_not_wait_for_another_clients_look_at_the_same_picture(world, looks):
    gate = Gate()
    world.models.before["reader"] = gate
    looks.add("a session", replace(picture(), owner="anna@192.0.2.1"))
    await gate.reached.wait()
    with asked_by(Client("192.0.2.1", tenant="bert")):
        turn_begins = asyncio.create_task(looks.give_way(picture().sha256))
    await asyncio.sleep(0)
    assert turn_begins.done()
    await turn_begins
    await over(looks)
    assert world.models.cancelled == ["reader"]


async def test_nothing_is_looked_at_for_a_caller_whose_engine_time_is_used_up(world, looks):
    allowance = Allowance("tenant", Quota(engine_s=1))
    allowance.computed(1000)
    with allowed((allowance,)):
        looks.add("a session", picture())
    await over(looks)
    assert world.models.calls.made == []
    looks.add("another", picture())
    await over(looks)
    assert world.models.calls.of("reader")


async def test_the_newest_picture_of_an_owner_counts_and_one_that_left_does_not(world, looks):
    gate = Gate()
    world.models.before["gate"] = gate
    looks.add("one", picture(1))
    await gate.reached.wait()
    for seed in (2, 3):
        looks.add("two", picture(seed))
    looks.add("gone", picture(4))
    looks.remove("gone")
    gate.open.set()
    await over(looks)
    assert world.models.calls.of("gate") == [picture(1).sha256, picture(3).sha256]


@pytest.mark.parametrize("which", [b"", picture(1).sha256])
async def test_what_is_done_for_an_owner_that_leaves_ends(world, looks, which):
    gate = world.models.before["gate"] = Gate()
    looks.add("one", picture(1))
    await gate.reached.wait()
    looks.remove("one", picture(2).sha256)
    looks.remove("another")
    assert world.models.cancelled == []
    looks.remove("one", which)
    await over(looks)
    assert "gate" in world.models.cancelled
    assert world.models.calls.of("reader") == []


async def test_closing_waits_until_what_was_being_done_has_ended(world):
    looks, gate = LookAhead(world.assistant), Gate()
    world.models.before["reader"] = gate
    looks.add("a session", picture())
    await gate.reached.wait()
    await looks.close()
    assert world.models.cancelled == ["reader"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_failure_is_not_reported(world, looks):
    async def fail():
        raise RuntimeError("no")

    world.models.before["gate"] = fail
    looks.add("a session", picture())
    await over(looks)
    looks.add("a session", picture(2))
    await over(looks)
    assert world.models.calls.of("gate") == [picture().sha256, picture(2).sha256]
