"""Text streams: 1, 2, 4 and 8 clients that arrive at once, each with about 250 tokens of prompt and 32 to generate.

The prompts are new to every contender, and all contenders get the same. Contenders take turns, round by round; what
llama.cpp itself takes for the same prompts (`floor`) is measured in between.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, median

from bench.engine.contenders.contender import Ask, Contender, in_turn, together, tokens, wall
from bench.engine.contenders.floor import FLOOR, Bare
from bench.engine.contenders.peers import OLLAMA, PLAIN
from bench.engine.contenders.running import (
    ANSWER_TOKENS,
    CONTEXT,
    Field,
    compare,
    familiar_prompts,
    long_prompts,
    running,
)
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.contenders.shapes import smollm2 as published
from bench.results import Row, absent, against, measured
from bench.sections import Part

CLIENTS = (1, 2, 4, 8)
AT_ONCE = 4
_CHECKED = 6
Series = dict[str, dict[int, list[float]]]
"""By contender and number of clients, a value for each round."""


async def run(setup: Setup) -> Part:
    """Every model that sees, every contender, every number of clients."""
    return await _measured(setup, setup.shapes())


async def smollm2(setup: Setup) -> Part:
    """A published model that reads text alone, in fewer rounds: its Q4_1 is slow to read."""
    if not setup.smollm2.is_file():
        return Part([Row("SmolLM2-135M: text streams", None, "", "make everyday has not fetched it")])
    return await _measured(replace(setup, rounds=min(3, setup.rounds)), [published(setup.smollm2)])


async def _measured(setup: Setup, shapes: Sequence[Shape]) -> Part:
    part = Part()
    for shape in shapes:
        prompts = await long_prompts(setup, shape, 1 + setup.rounds * sum(CLIENTS))
        async with running(setup, shape, (PLAIN, OLLAMA)) as field:
            part.rows += await compare(field, shape, familiar_prompts(_CHECKED))
            await in_turn(field.contenders, 0, partial(together, asks=[Ask(prompts.pop(), ANSWER_TOKENS)] * 2))
            bare = await asyncio.to_thread(Bare, shape, setup.threads, CONTEXT, AT_ONCE)
            try:
                walls, firsts, rates = await _rounds(setup, shape, field, prompts, bare)
            finally:
                bare.close()
        part.rows += _rows(shape, field, walls, firsts)
        part.data[shape.name] = {
            name: {str(n): _point(firsts[name][n], rates[name][n]) for n in CLIENTS} for name in rates
        }
    return part


def _point(firsts: list[float], rates: list[float]) -> dict[str, float | list[float]]:
    """What is drawn of one contender for one number of clients."""
    return {"first": median(firsts), "rate": median(rates), "first_rounds": firsts, "rate_rounds": rates}


async def _rounds(
    setup: Setup, shape: Shape, field: Field, prompts: list[str], bare: Bare
) -> tuple[Series, Series, Series]:
    walls: Series = defaultdict(lambda: defaultdict(list))
    firsts: Series = defaultdict(lambda: defaultdict(list))
    rates: Series = defaultdict(lambda: defaultdict(list))
    for round_ in range(setup.rounds):
        for clients in CLIENTS:
            setup.say(f"{shape.name}: round {round_ + 1} of {setup.rounds}, {clients} at once")
            asks = [Ask(prompts.pop(), ANSWER_TOKENS) for _ in range(clients)]

            async def work(contender: Contender, asks: list[Ask] = asks) -> None:
                timed = await together(contender, asks)
                walls[contender.name][len(asks)].append(wall(timed))
                firsts[contender.name][len(asks)].append(fmean(each.first for each in timed))
                rates[contender.name][len(asks)].append(tokens(timed) / wall(timed))

            await in_turn(field.contenders, round_, work)
            if clients == AT_ONCE:
                floor = await asyncio.to_thread(bare.measure, [ask.text for ask in asks], ANSWER_TOKENS)
                walls[FLOOR][clients].append(floor.wall)
                firsts[FLOOR][clients].append(floor.first)
    return walls, firsts, rates


def _rows(shape: Shape, field: Field, walls: Series, firsts: Series) -> list[Row]:
    ours = field.contenders[0].name
    wall_name = f"{shape.name}: {AT_ONCE} text streams at once, wall"
    first_name = f"{shape.name}: {AT_ONCE} arriving together, mean time to first token"
    rows = []
    for peer, wall_bar, first_bar in ((PLAIN, 1.05, 1.05), (OLLAMA, 1.0, 1.0)):
        if why := field.missing.get(peer):
            rows.append(absent(wall_name, median(walls[ours][AT_ONCE]), "s", peer, why))
            continue
        rows.append(against(wall_name, walls[ours][AT_ONCE], "s", peer, walls[peer][AT_ONCE], wall_bar))
        rows.append(against(first_name, firsts[ours][AT_ONCE], "s", peer, firsts[peer][AT_ONCE], first_bar))
    rows.append(against(wall_name, walls[ours][AT_ONCE], "s", FLOOR, walls[FLOOR][AT_ONCE]))
    rows.append(against(first_name, firsts[ours][AT_ONCE], "s", FLOOR, firsts[FLOOR][AT_ONCE]))
    return rows + [measured(f"{shape.name}: {n} at once, wall", walls[ours][n], "s") for n in CLIENTS]
