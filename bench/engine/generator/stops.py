"""How much is still computed for a stream that has been left, or whose deadline has passed.

A turn is left when its client cancels it, and when a new question of the same session supersedes it. Counted is the
processor time of the generator's process, until it computes no more, in steps: of one token while it writes, of one
batch while it reads a prompt. One that has begun is not stopped. The system counts by the tick, which is longer than
the starter's steps, so the larger model alone is measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from statistics import median
from time import monotonic

from bench.engine.contenders.contender import Ask
from bench.engine.contenders.ours import Ours, parts
from bench.engine.contenders.running import CONTEXT
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.figures import words
from bench.processes import threads
from bench.results import at_most, spread
from bench.sections import Part
from quizglass_server.engines.generator.prompt import Piece, Urgency
from quizglass_server.errors import BudgetExceeded

_MOST = 2.0
_TOKENS = 200
_BEFORE = 12
"""Tokens of a stream before it is left: by then the time of a step is known."""
_LONG_WORDS = 1200
"""Three batches of a prompt."""
_QUIET_S, _LOOK_S, _WAIT_S = 0.15, 0.01, 20.0
"""It computes no more when so long hardly any processor time was spent, seen so often, within so long."""
_IDLE = 0.2
"""Share of one core below which it does not compute: its threads that wait for requests look for them now and then."""


async def run(setup: Setup) -> Part:
    """Every way to end."""
    part = Part()
    repeats = setup.count(20, 3)
    for shape in (each for each in setup.shapes() if each.name != "starter"):
        ours = await Ours.start(shape, setup.threads, CONTEXT)
        try:
            found = await _of(setup, ours, shape, repeats)
        finally:
            await ours.close()
        for what, steps in found.items():
            name = f"{shape.name}: {what}, steps computed afterwards ({spread(steps)})"
            part.rows.append(at_most(name, median(steps), "steps", _MOST))
        part.data[shape.name] = found
    return part


async def _of(setup: Setup, ours: Ours, shape: Shape, repeats: int) -> dict[str, list[float]]:
    step = await _step(ours)
    batch = await _batch(ours)
    ways: dict[str, tuple[Callable[[Ours, int], Awaitable[float]], float]] = {
        "left while it writes": (_left_writing, step),
        "left while it reads a prompt": (_left_reading, batch),
        "deadline while it writes": (_deadline, step),
    }
    found: dict[str, list[float]] = {what: [] for what in ways}
    for number in range(repeats):
        setup.say(f"{shape.name}: stop {number + 1} of {repeats}")
        for what, (way, unit) in ways.items():
            found[what].append(await way(ours, 1000 * (number + 1)) / unit)
    return found


async def _step(ours: Ours) -> float:
    """Processor seconds of one token that is written."""
    spent = []
    for seed in range(3):
        prompt = parts(Ask(words(30, seed), 2))
        async with aclosing((await ours.process.client()).generate(prompt, 4 * _BEFORE)) as stream:
            await anext(stream)
            before, count = computed_s(ours), 0
            async for item in stream:
                count += isinstance(item, Piece)
        spent.append((computed_s(ours) - before) / max(1, count))
    return median(spent)


async def _batch(ours: Ours) -> float:
    """Processor seconds of a third of a prompt of three batches."""
    before = computed_s(ours)
    async with aclosing((await ours.process.client()).generate(parts(Ask(words(_LONG_WORDS, 7), 2)), 1)) as stream:
        async for _ in stream:
            pass
    return (computed_s(ours) - before) / 3


async def _left_writing(ours: Ours, seed: int) -> float:
    """Leave a stream after some of its tokens."""
    async with aclosing((await ours.process.client()).generate(parts(Ask(words(30, seed), 2)), _TOKENS)) as stream:
        for _ in range(_BEFORE):
            await anext(stream, None)
        before = computed_s(ours)
    return await _spent(ours, before)


async def _left_reading(ours: Ours, seed: int) -> float:
    """Leave a request whose prompt is being read."""
    client = await ours.process.client()

    async def read() -> None:
        async with aclosing(client.generate(parts(Ask(words(_LONG_WORDS, seed), 2)), 1)) as stream:
            async for _ in stream:
                pass

    begun = computed_s(ours)
    reading = asyncio.create_task(read())
    while computed_s(ours) <= begun and not reading.done():  # noqa: ASYNC110 - only the system knows
        await asyncio.sleep(0.001)
    before = computed_s(ours)
    reading.cancel()
    await asyncio.wait({reading})
    return await _spent(ours, before)


async def _deadline(ours: Ours, seed: int) -> float:
    """A stream whose time runs out while it writes."""
    client = await ours.process.client()
    began = monotonic()
    async with aclosing(client.generate(parts(Ask(words(30, seed + 1), 2)), _BEFORE)) as stream:
        async for _ in stream:
            pass
    deadline = Urgency(deadline=monotonic() + monotonic() - began)
    with suppress(BudgetExceeded):  # before its first token
        async with aclosing(client.generate(parts(Ask(words(30, seed + 2), 2)), _TOKENS, deadline)) as stream:
            async for _ in stream:
                pass
    return await _spent(ours, computed_s(ours))


async def _spent(ours: Ours, before: float) -> float:
    """Processor seconds since `before`, once none are spent any more."""
    until, last, since = monotonic() + _WAIT_S, computed_s(ours), monotonic()
    seen, looked = last, since
    while monotonic() - since < _QUIET_S and monotonic() < until:
        await asyncio.sleep(_LOOK_S)
        now, at = computed_s(ours), monotonic()
        if now - seen > _IDLE * (at - looked):
            last, since = now, at
        seen, looked = now, at
    return last - before


def computed_s(ours: Ours) -> float:
    """Processor seconds of the process that serves, to the nanosecond where the system says it."""
    spent = 0
    for thread in threads(ours.process.pid or 0):
        try:
            spent += int((thread / "schedstat").read_bytes().split()[0])
        except (OSError, IndexError, ValueError):
            continue
    return spent / 1e9
