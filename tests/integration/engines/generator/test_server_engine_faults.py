"""A whole server whose generator is killed, again and again: who gets an error, and what goes on meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import grpc.aio
import pytest

from quizglass_client import AsyncClient, ServerUnavailable
from tests.support.engines.starter_server import HEALTH, PATIENCE_S, asked, outcome, served, statuses
from tests.support.processes import generator_of

KILLS = int(os.environ.get("QUIZGLASS_TEST_KILLS", "4"))
"""The benchmark kills a hundred times; this is often enough to see that nothing is stuck."""
STREAMS = 4


async def test_a_generator_killed_again_and_again_takes_nothing_else_with_it(
    starter_bundle: Path, tmp_path: Path
) -> None:
    async with (
        served(starter_bundle, tmp_path, "--generator-crashes", "100000") as (server, client),
        grpc.aio.insecure_channel(server.target) as channel,
        asyncio.timeout(PATIENCE_S),
    ):
        pid, expected, over = server.pid, await outcome(client), asyncio.Event()
        whole, generator = statuses(channel, ""), statuses(channel, "quizglass.generator")
        assert await anext(whole) == await anext(generator) == HEALTH.SERVING

        async def searches() -> int:
            count = 0
            while not over.is_set():
                assert (await client.search(text="What does the Zubol weigh?"))[0].title == "Zubol"
                count += 1
                await asyncio.sleep(0.02)  # the generator that starts again needs the processor more
            return count

        searching = asyncio.create_task(searches())
        outcomes: list[str] = []
        for _ in range(KILLS):
            turns = [asyncio.create_task(outcome(client)) for _ in range(STREAMS)]
            await asyncio.sleep(0)
            victim = generator_of(server.pid)
            assert victim is not None
            os.kill(victim, signal.SIGKILL)
            assert await anext(generator) == HEALTH.NOT_SERVING
            outcomes += await asyncio.gather(*turns)
            assert await anext(generator) == HEALTH.SERVING
        assert set(outcomes) <= {expected, "UNAVAILABLE ENGINE_LOST"}
        assert await outcome(client) == expected
        over.set()
        assert await searching > 0
        assert server.pid == pid
        assert await client.healthy()


async def test_a_crash_loop_is_refused_at_once_and_shown_while_everything_else_goes_on(
    starter_bundle: Path, tmp_path: Path
) -> None:
    flags = ("--generator-crashes", "2", "--generator-pause-s", "3000")
    async with (
        served(starter_bundle, tmp_path, *flags) as (server, client),
        grpc.aio.insecure_channel(server.target) as channel,
        asyncio.timeout(PATIENCE_S),
    ):
        victims: set[int | None] = {None}
        while len(victims) < 3:
            if (victim := generator_of(server.pid)) in victims:
                await asyncio.sleep(0.01)
                continue
            assert victim is not None
            os.kill(victim, signal.SIGKILL)
            victims.add(victim)
        generator = statuses(channel, "quizglass.generator")
        while await anext(generator) != HEALTH.NOT_SERVING:
            pass
        # A death is counted a moment after it is reported.
        while (refusal := await refused(client)).retry_after is None:
            assert refusal.reason == "ENGINE_LOST"
        assert 0 < refusal.retry_after <= 3000
        assert "next attempt in" in refusal.message
        ready = {role.role: role.ready for role in (await client.capabilities()).roles}
        assert not ready.pop("generator")
        assert all(ready.values())
        assert await client.healthy()
        assert (await client.search(text="What does the Zubol weigh?"))[0].title == "Zubol"
    assert "requests are refused, next attempt in" in (tmp_path / "server.log").read_text()


async def refused(client: AsyncClient) -> ServerUnavailable:
    with pytest.raises(ServerUnavailable) as caught:
        await asked(client)
    return caught.value
