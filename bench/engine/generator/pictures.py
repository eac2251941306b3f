"""Pictures: what a second question about the same one costs, and what another client's picture does to a stream."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median

from bench.engine.contenders.contender import PATIENCE_S, Ask, Contender, Timed, complete, in_turn
from bench.engine.contenders.ours import new_picture
from bench.engine.contenders.peers import OLLAMA, PLAIN
from bench.engine.contenders.running import compare, long_prompts, running
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.figures import gaps_during, percentile
from bench.results import absent, against, measured
from bench.sections import Part

_QUESTIONS = ("What is this?", "Who made the thing in the picture?", "What colour is it?")
_ANSWER_TOKENS = 8
_STREAM_TOKENS = {"starter": 60}
"""Of the stream that is disturbed; the starter hardly ever writes more."""
_LONG_STREAM = 160
"""Likewise, of any other model."""
_UNDER_WAY = 10
"""Tokens of a stream before the other client's picture comes."""
_PAUSE_S = 0.05
Times = dict[str, list[float]]
"""By contender, a value for each round."""


async def second_question(setup: Setup) -> Part:
    """A new picture each round, asked about twice; the time to first token of the second question."""
    return await _of_each_shape(setup, _second_questions)


async def _second_questions(setup: Setup, shape: Shape) -> Part:
    first: Times = defaultdict(list)
    second: Times = defaultdict(list)

    async def twice(contender: Contender, picture: bytes) -> None:
        for times, text in ((first, _QUESTIONS[0]), (second, _QUESTIONS[1])):
            times[contender.name].append((await complete(contender, Ask(text, _ANSWER_TOKENS, picture))).first)

    async with running(setup, shape, (PLAIN, OLLAMA)) as field:
        checked = [Ask(text, _ANSWER_TOKENS, new_picture(shape.side, 0)) for text in _QUESTIONS]
        rows = await compare(field, shape, checked)
        for round_ in range(setup.rounds):
            setup.say(f"{shape.name}: round {round_ + 1} of {setup.rounds}, two questions about a picture")
            await in_turn(field.contenders, round_, partial(twice, picture=new_picture(shape.side, round_ + 1)))
    ours = field.contenders[0].name
    name = f"{shape.name}: second question about a picture, first token"
    for peer, bar in ((PLAIN, 1.05), (OLLAMA, 1.05)):
        if why := field.missing.get(peer):
            rows.append(absent(name, median(second[ours]), "s", peer, why))
        else:
            rows.append(against(name, second[ours], "s", peer, second[peer], bar))
    rows.append(measured(f"{shape.name}: first question about a picture, first token", first[ours], "s"))
    return Part(rows, {"second": dict(second), "first": dict(first)})


async def gaps(setup: Setup) -> Part:
    """Gaps between a stream's tokens while another client's picture is on its way to its first token."""
    return await _of_each_shape(setup, _gaps)


async def _of_each_shape(setup: Setup, measure: Callable[[Setup, Shape], Awaitable[Part]]) -> Part:
    part = Part()
    for shape in setup.shapes():
        found = await measure(setup, shape)
        part.rows += found.rows
        part.data[shape.name] = found.data
    return part


async def _gaps(setup: Setup, shape: Shape) -> Part:
    tokens = _STREAM_TOKENS.get(shape.name, _LONG_STREAM)
    prompts = await long_prompts(setup, shape, setup.rounds + 1, tokens)
    worst: Times = defaultdict(list)

    async def disturb(contender: Contender, ask: Ask, seed: int) -> None:
        if found := await disturbed(contender, ask, shape.side, seed):
            worst[contender.name].append(1e3 * percentile(found, 0.99))

    async with running(setup, shape, (PLAIN,)) as field:
        await in_turn(field.contenders, 0, partial(disturb, ask=Ask(prompts.pop(), tokens), seed=0))
        worst.clear()  # that warmed them up
        for round_ in range(setup.rounds):
            setup.say(f"{shape.name}: round {round_ + 1} of {setup.rounds}, a picture beside a stream")
            ask = Ask(prompts.pop(), tokens)
            await in_turn(field.contenders, round_, partial(disturb, ask=ask, seed=round_ + 1))
    ours = worst[field.contenders[0].name]
    name = f"{shape.name}: gap between tokens while another sends a picture, p99"
    if why := field.missing.get(PLAIN):
        return Part([absent(name, median(ours), "ms", PLAIN, why)], dict(worst))
    return Part([against(name, ours, "ms", PLAIN, worst[PLAIN], 1.05)], dict(worst))


async def disturbed(contender: Contender, ask: Ask, side: int, seed: int) -> list[float]:
    """Gaps of one stream during the other client's pictures, which come until the stream ends."""
    stream = Timed()
    windows: list[tuple[float, float]] = []
    async with asyncio.timeout(PATIENCE_S):
        async with asyncio.TaskGroup() as group:
            running_ = group.create_task(contender.complete(ask, stream))
            while len(stream.times) < _UNDER_WAY and not running_.done():  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            while not running_.done():
                picture = new_picture(side, 1000 * seed + len(windows) + 10)
                other = await complete(contender, Ask(_QUESTIONS[0], _ANSWER_TOKENS, picture))
                if other.times:  # some answers have no token
                    windows.append((other.sent, other.times[0]))
                await asyncio.sleep(_PAUSE_S)
    return gaps_during(stream.times, windows)
