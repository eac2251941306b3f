"""Searches outside of turns."""

from __future__ import annotations

import asyncio

import pytest

from quizglass_server.assistant.search import search
from quizglass_server.errors import RoleMissing
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from tests.support.turn_fakes import World, picture


async def test_a_search_that_fails_leaves_nothing_running() -> None:
    world = World()
    world.models[IMAGE_ENCODER] = None
    ended: list[str] = []

    async def search_texts(*_: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("text")

    world.knowledge.search_texts = search_texts
    with pytest.raises(RoleMissing):
        await search(world.resources, "a cup", picture(), 5)
    assert ended == ["text"]
