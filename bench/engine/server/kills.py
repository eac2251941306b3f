"""The engine killed mid-stream: which clients get an error when, and that everything else goes on.

Twice: the supervised process alone, where the moment at which the supervisor notices can be seen, and a whole server,
where turns run into the death, searches go on beside them and the server's own process must stay the same.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import aclosing
from math import nan
from time import perf_counter

from bench.engine.contenders.contender import PATIENCE_S, Ask
from bench.engine.contenders.ours import Ours, parts
from bench.engine.contenders.running import CONTEXT
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape, starter
from bench.engine.figures import words
from bench.engine.server.serving import Outcome, Stock, ask, kinds, served
from bench.processes import children, runs
from bench.results import Row, at_most, measured
from bench.sections import Part
from quizglass_client import AsyncClient
from quizglass_server.engines.generator.process.breaker import BreakerOptions
from quizglass_server.errors import EngineLost

_STREAMS = 4
_SERVER_KILLS = 30
"""Fewer than of the process alone: each costs the five seconds that a process which keeps dying waits for its start."""
_TURN_S, _HANGS_S = 20.0, 30.0
"""What a turn may take, and from when on one that has not ended hangs: the server's own limit has passed long ago."""
_TOLD = {"answered", "refused", "ServerUnavailable"}
"""Outcomes of turns that know what became of them."""
NEVER = 1_000_000
"""Deaths that open the breaker: it would, rightly, end this benchmark."""


async def run(setup: Setup) -> Part:
    """Both."""
    part = await _alone(setup, starter(setup.bundle))
    whole = await _whole(setup)
    return Part(part.rows + whole.rows, {"process": part.data, "server": whole.data})


async def _alone(setup: Setup, shape: Shape) -> Part:
    kills = setup.count(100, 3)
    patient = BreakerOptions(deaths=NEVER, longest_delay_s=0.1)
    ours = await Ours.start(shape, setup.threads, CONTEXT, breaker=patient)
    from_notice: list[float] = []
    from_kill: list[float] = []
    hung = 0
    noticed = 0.0

    def changed() -> None:
        nonlocal noticed
        if not ours.process.ready and not noticed:
            noticed = perf_counter()

    ours.process.on_change = changed
    try:
        for kill in range(kills):
            setup.say(f"process: kill {kill + 1} of {kills}")
            await serving(ours)
            dead = asyncio.Event()
            tasks, flowing = streams(ours, kill, dead)
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*(event.wait() for event in flowing))
            noticed = 0.0
            dead.set()
            killed = perf_counter()
            if ours.process.pid is not None:
                os.kill(ours.process.pid, signal.SIGKILL)
            done, pending = await asyncio.wait(tasks, timeout=10)
            hung += len(pending)
            for task in pending:
                task.cancel()
            told = [at for task in done if (at := task.result()) is not None]
            from_kill += [1e3 * (at - killed) for at in told]
            from_notice += [1e3 * max(0.0, at - noticed) for at in told if noticed]
    finally:
        await ours.close()
    rows = _told_rows(kills, from_notice, from_kill, hung)
    return Part(rows, {"from_notice_ms": from_notice, "from_kill_ms": from_kill})


def _told_rows(kills: int, from_notice: list[float], from_kill: list[float], hung: int) -> list[Row]:
    """How long callers wait, in ms, from the supervisor's notice and from the kill itself."""
    return [
        at_most(f"{kills} kills: callers told after detection, longest", max(from_notice, default=nan), "ms", 100),
        at_most(f"{kills} kills: callers that were never told", hung, "streams", 0),
        measured(f"{kills} kills: callers told after the kill itself", from_kill, "ms"),
        Row(f"{kills} kills: callers told after the kill itself, longest", max(from_kill), "ms"),
    ]


def streams(ours: Ours, kill: int, dead: asyncio.Event) -> tuple[list[asyncio.Task[float | None]], list[asyncio.Event]]:
    """Streams that begin again when they end, and when each gets the error; None for one that it missed."""
    flowing = [asyncio.Event() for _ in range(_STREAMS)]

    async def stream(index: int) -> float | None:
        turn = 0
        try:
            while not dead.is_set():
                turn += 1
                request = Ask(words(30, 10_000 * kill + 100 * index + turn), 400)
                async with aclosing((await ours.process.client()).generate(parts(request), request.tokens)) as items:
                    async for _ in items:
                        flowing[index].set()
        except EngineLost:
            return perf_counter()
        return None

    return [asyncio.create_task(stream(index)) for index in range(_STREAMS)], flowing


async def serving(ours: Ours) -> None:
    """Wait for a process that serves; a request does that by itself."""
    async with asyncio.timeout(PATIENCE_S):
        while not ours.process.ready:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def _whole(setup: Setup) -> Part:
    kills = setup.count(_SERVER_KILLS, 3)
    flags = ("--generator-crashes", str(NEVER))
    turns: list[Outcome] = []
    searches: list[float] = []
    failed: list[str] = []
    async with served(setup, flags) as (server, trial), AsyncClient(server.target) as client:
        stock = Stock(trial.questions)
        before = server.pid
        stop = asyncio.Event()

        queries = [question.gold_query for question in trial.questions]
        searching = asyncio.create_task(_search_until(stop, client, queries, searches, failed))
        try:
            for kill in range(kills):
                setup.say(f"server: kill {kill + 1} of {kills}")
                asked = [asyncio.create_task(ask(client, *next(stock), _TURN_S)) for _ in range(_STREAMS)]
                pid = await generator_of(server.pid)
                await asyncio.sleep(0.05 * (kill % 8))
                if pid is not None:
                    os.kill(pid, signal.SIGKILL)
                turns += await ended(asked, _HANGS_S)
        finally:
            stop.set()
            await searching
        alive = server.pid == before and await client.healthy()
    outcomes = kinds(turns)
    untold = sum(count for kind, count in outcomes.items() if kind not in _TOLD)
    rows = [
        at_most(f"{kills} kills: turns neither answered nor told, of {len(turns)}", untold, "turns", 0),
        at_most(f"{kills} kills: searches beside them that failed, of {len(searches)}", len(failed), "searches", 0),
        Row(f"{kills} kills: server process restarts", 0 if alive else 1, "", bar="<= 0", ok=alive),
    ]
    return Part(rows, {"turns": outcomes, "failed": failed[:5]})


async def _search_until(
    stop: asyncio.Event, client: AsyncClient, queries: Sequence[str], searches: list[float], failed: list[str]
) -> None:
    """Search for one query after the other and note each time in ms, or the error; it needs no generator."""
    while not stop.is_set():
        sent = perf_counter()
        try:
            await client.search(text=queries[len(searches) % len(queries)])
            searches.append(1e3 * (perf_counter() - sent))
        except Exception as error:
            failed.append(repr(error))
        await asyncio.sleep(0.02)


async def ended(asked: Sequence[asyncio.Task[Outcome]], seconds: float) -> list[Outcome]:
    """How turns end; one that has not after so many seconds has the outcome "hangs"."""
    began = perf_counter()
    done, hanging = await asyncio.wait(asked, timeout=seconds)
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
    return [task.result() for task in done] + [Outcome("hangs", began, seconds) for _ in hanging]


async def generator_of(server: int) -> int | None:
    """Process id of the server's generator; None when there is none within 20 seconds."""
    for _ in range(2000):
        for pid in children(server):
            if runs(pid, "--slot-save-path"):
                return pid
        await asyncio.sleep(0.01)
    return None
