"""The objects of a turn are freed when it ends, with its picture, and not at a later garbage collection."""

import asyncio
import gc

import pytest

from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.assistant.turn.lookups import Lookups
from quizglass_server.assistant.turn.picture_context import PictureContext
from quizglass_server.assistant.turn.toolbox import Toolbox
from tests.support.gate import Gate
from tests.support.sessions.session_links import eventually
from tests.support.turn_fakes import World, picture, turn


@pytest.fixture(autouse=True)
def no_garbage_is_looked_for():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
async def world():
    world = World()
    world.models.lines = ["VELMORA"]
    return world


def left():
    """Class names of the objects of turns that are still in memory."""
    kept = (Toolbox, PictureContext, Lookups)
    return sorted(type(each).__name__ for each in gc.get_objects() if isinstance(each, kept))


async def cancelled(task):
    """Cancel a task and wait until it has ended."""
    task.cancel()
    await asyncio.wait({task})


@pytest.mark.parametrize("policy", ["both", "image", "none", "omnisearch", "quote"])
async def test_an_answered_turn(world, policy):
    await world.ask(turn("How much does this cost?"), policy)
    assert left() == []


@pytest.mark.parametrize("role", ["gate", "reader", "image_encoder", "text_encoder", "reranker", "answer"])
async def test_a_turn_that_is_cancelled(world, role):
    gate = world.models.before[role] = Gate()
    asking = asyncio.create_task(world.ask(turn("How much does this cost?"), "both"))
    await gate.reached.wait()
    await cancelled(asking)
    del asking
    assert left() == []


@pytest.mark.parametrize("role", ["gate", "reader", "image_encoder", "prepare"])
async def test_looking_at_a_picture_that_gives_way(world, role):
    looks, gate = LookAhead(world.assistant), Gate()
    world.models.before[role] = gate
    looks.add("a session", picture())
    await gate.reached.wait()
    looks.remove("a session")
    await eventually(lambda: left() == [])
    await looks.close()
