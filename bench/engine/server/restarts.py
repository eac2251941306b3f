"""Generator processes started in a process that serves: none may die of that, and each killed one is back at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from time import perf_counter

from bench.engine.contenders.setup import Setup
from bench.engine.server.kills import generator_of
from bench.engine.server.serving import SEED, THINGS, Stock, ask, served
from bench.results import at_most, measured
from bench.sections import Part
from quizglass_client import AsyncClient

_CLIENTS = 4
_NEVER = 1_000_000
"""Deaths that open the breaker: it would, rightly, end this benchmark."""
_RESTART_S = 30.0
_TURN_S = 20.0
_FAILED = ("cannot be started", "cannot be restarted")
"""What the server's log has of an attempt that failed."""


async def run(setup: Setup) -> Part:
    """Children under load, then restarts under load."""
    spawns = setup.count(400, 20)
    died = await _spawned(setup, spawns)
    restarts = await _restarts(setup)
    rows = [
        at_most(f"{spawns} children started beside gRPC and uvloop: died", died, "", 0),
        *restarts.rows,
    ]
    return Part(rows, {"spawned": spawns, "died": died, **restarts.data})


async def _spawned(setup: Setup, count: int) -> int:
    setup.say(f"starting {count} children")
    command = [sys.executable, "-m", "bench.engine.server.spawning", str(count)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return int(json.loads(out)["died"])


async def _restarts(setup: Setup) -> Part:
    """Kills of a whole server's generator while clients ask, each when the one before serves."""
    kills = setup.count(100, 3)
    waited: list[float] = []
    async with (
        served(setup, ("--generator-crashes", str(_NEVER))) as (server, trial),
        AsyncClient(server.target) as client,
    ):
        log = setup.folder / f"world-{SEED}-{THINGS}" / "server.log"
        begun = await asyncio.to_thread(os.path.getsize, log)
        over, stock = asyncio.Event(), Stock(trial.questions)

        async def turns() -> None:
            while not over.is_set():
                await ask(client, *next(stock), _TURN_S)

        load = [asyncio.create_task(turns()) for _ in range(_CLIENTS)]
        try:
            for kill in range(kills):
                setup.say(f"server: restart {kill + 1} of {kills}")
                victim = await generator_of(server.pid)
                if victim is not None:
                    os.kill(victim, signal.SIGKILL)
                waited.append(await _back(client, perf_counter()))
        finally:
            over.set()
            await asyncio.gather(*load)
        failed = await asyncio.to_thread(_failed, log, begun)
    rows = [
        at_most(f"{kills} restarts under load: attempts that failed", failed, "", 0),
        measured(f"{kills} restarts under load: until the next process serves", waited, "s"),
    ]
    return Part(rows, {"restarts_s": waited, "failed_attempts": failed})


async def _back(client: AsyncClient, killed: float) -> float:
    """Seconds until the generator is gone and there again."""
    for ready in (False, True):
        while await _ready(client) is not ready and perf_counter() - killed < _RESTART_S:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    return perf_counter() - killed


async def _ready(client: AsyncClient) -> bool:
    return all(role.ready for role in (await client.capabilities()).roles if role.role == "generator")


def _failed(log: Path, begun: int) -> int:
    text = log.read_bytes()[begun:].decode("utf-8", "replace")
    return sum(text.count(words) for words in _FAILED)
