"""Streams that are cancelled by the thousand: memory must be flat once everything has been used, and nothing stuck.

Twice: the supervised process alone, and a whole server that is left by its clients in the middle of their turns.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from random import Random
from statistics import median

from bench.engine.contenders.contender import PATIENCE_S, Ask
from bench.engine.contenders.ours import Ours, parts
from bench.engine.contenders.running import CONTEXT
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import starter
from bench.engine.figures import words
from bench.engine.scorers.memory import memory_kib
from bench.engine.server.kills import generator_of
from bench.engine.server.serving import served
from bench.results import Row, at_most
from bench.sections import Part
from bench.worlds import picture
from quizglass_client import AsyncClient, ClientError

_AT_ONCE = 8
_SAMPLES = 100
_WARM = 0.3
"""Share of the streams that fill caches, arenas and pools."""
_FLAT_PERCENT = 2.0
_PROMPTS = 64

Leave = Callable[[int], Awaitable[None]]


async def run(setup: Setup) -> Part:
    """Both."""
    process, server = await _process(setup), await _server(setup)
    return Part(process.rows + server.rows, {"process": process.data, "server": server.data})


async def _process(setup: Setup) -> Part:
    streams = setup.count(10_000, 300)
    ours = await Ours.start(starter(setup.bundle), setup.threads, CONTEXT)
    prompts = [parts(Ask(words(30, seed), 400)) for seed in range(_PROMPTS)]

    async def leave(number: int) -> None:
        """After no token, one or a few; or before anything was sent."""
        async with aclosing((await ours.process.client()).generate(prompts[number % _PROMPTS], 400)) as stream:
            for _ in range(Random(number).randrange(5)):
                await anext(stream, None)

    try:
        pid = ours.process.pid
        watched = {"generator process": pid or 0, "process that cancels": os.getpid()}
        memory = await _storm(setup, "process", streams, leave, watched)
        same = ours.process.pid == pid
    finally:
        await ours.close()
    rows = [_flat(f"{streams} cancelled streams: memory of the {who}", kib) for who, kib in memory.items()]
    rows.append(at_most(f"{streams} cancelled streams: restarts of the generator process", 0 if same else 1, "", 0))
    return Part(rows, dict(memory))


async def _server(setup: Setup) -> Part:
    turns = setup.count(10_000, 100)
    failed: list[str] = []
    async with served(setup) as (server, trial), AsyncClient(server.target) as client:
        frames = [(question, picture(question)) for question in trial.questions]

        async def leave(number: int) -> None:
            """In the middle of a turn: after some of its events."""
            question, frame = frames[number % len(frames)]
            try:
                async with aclosing(client.ask(question.text, frame, policy="none")) as events:
                    for _ in range(Random(number).randrange(5)):
                        await anext(events, None)
            except ClientError as error:
                failed.append(repr(error))

        generator = await generator_of(server.pid) or 0
        watched = {"server": server.pid, "server's generator process": generator}
        memory = await _storm(setup, "server", turns, leave, watched)
        answered = await client.answer(frames[0][0].text, frames[0][1], policy="none")
        same = await generator_of(server.pid) == generator
    rows = [_flat(f"{turns} cancelled turns: memory of the {who}", kib) for who, kib in memory.items()]
    rows += [
        at_most(f"{turns} cancelled turns: turns that failed", len(failed), "turns", 0),
        at_most(f"{turns} cancelled turns: restarts of the generator process", 0 if same else 1, "", 0),
        Row(
            f"{turns} cancelled turns: the next one is answered",
            float(bool(answered.text)),
            "",
            bar=">= 1",
            ok=bool(answered.text),
        ),
    ]
    return Part(rows, {**memory, "failed": failed[:5]})


async def _storm(setup: Setup, where: str, count: int, leave: Leave, pids: dict[str, int]) -> dict[str, list[int]]:
    """Open and leave so many streams, a few at once; memory of each process on the way, KiB."""
    memory: dict[str, list[int]] = {who: [] for who in pids}
    numbers = iter(range(count))
    every = max(1, count // _SAMPLES)

    async def client() -> None:
        for number in numbers:
            async with asyncio.timeout(PATIENCE_S):
                await leave(number)
            if number % every == 0:
                setup.say(f"{where}: {number} of {count} cancelled")
                for who, pid in pids.items():
                    memory[who].append(memory_kib("VmRSS", pid))

    await asyncio.gather(*(client() for _ in range(_AT_ONCE)))
    return memory


def _flat(name: str, kib: list[int]) -> Row:
    """Growth from the end of the warm-up to the end, medians of a tenth of the samples each, in percent."""
    tenth = max(1, len(kib) // 10)
    warm = int(len(kib) * _WARM)
    before, after = median(kib[warm : warm + tenth]), median(kib[-tenth:])
    grown = 100 * (after - before) / before
    return at_most(f"{name}, {after / 1024:.0f} MiB, growth after warm-up", grown, "%", _FLAT_PERCENT)
