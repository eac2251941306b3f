"""Text streams beside other jobs: four clients that arrive at once, on an idle machine and beside busy processes.

The busy ones are of the same priority as the contenders, and of a lower one. Contenders take turns in each condition,
and conditions in each round; what a contender has to find out about its neighbours counts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from statistics import median

from bench.busy import busy
from bench.engine.contenders.contender import Ask, Contender, in_turn, together, wall
from bench.engine.contenders.peers import OLLAMA, PLAIN
from bench.engine.contenders.running import ANSWER_TOKENS, Field, long_prompts, running
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.results import Row, absent, against
from bench.sections import Part

AT_ONCE = 4
SLOWER = 2.5
"""At most so many times as on an idle machine, beside one busy process."""
_NO_SLOWER = 1.0
_LOWER = 10
"""Niceness of jobs of a lower priority: about a tenth of the weight."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What else the machine does."""

    name: str
    processes: int
    niceness: int = 0


IDLE = Condition("on an idle machine", 0)
BESIDE_ONE = (
    Condition("beside a busy process", 1),
    Condition("beside a busy process of lower priority", 1, _LOWER),
)
BESIDE_TWO = (
    Condition("beside two busy processes", 2),
    Condition("beside two busy processes of lower priority", 2, _LOWER),
)
CONDITIONS = (IDLE, *BESIDE_ONE, *BESIDE_TWO)
Walls = dict[str, dict[Condition, list[float]]]
"""By contender, seconds of each round."""


async def starter(setup: Setup) -> Part:
    """The starter's generator."""
    return await _measured(setup, "starter", setup.rounds, ANSWER_TOKENS)


async def larger(setup: Setup) -> Part:
    """The larger shape, in fewer rounds and with shorter answers: beside busy processes a peer may take a minute."""
    return await _measured(setup, "0.5B", min(setup.rounds, 3), ANSWER_TOKENS // 2)


async def _measured(setup: Setup, model: str, rounds: int, tokens: int) -> Part:
    """Every condition, every contender."""
    part = Part()
    for shape in (each for each in setup.shapes() if each.name == model):
        prompts = await long_prompts(setup, shape, AT_ONCE * (1 + rounds * len(CONDITIONS)), tokens)
        async with running(setup, shape, (PLAIN, OLLAMA)) as field:
            warm = [Ask(prompts.pop(), tokens) for _ in range(AT_ONCE)]
            await in_turn(field.contenders, 0, partial(together, asks=warm))
            walls = await _rounds(setup, shape, field, prompts, rounds, tokens)
        part.rows += rows(shape.name, field, walls)
        part.data[shape.name] = {
            name: {condition.name: values for condition, values in by.items()} for name, by in walls.items()
        }
    return part


async def _rounds(setup: Setup, shape: Shape, field: Field, prompts: list[str], rounds: int, tokens: int) -> Walls:
    walls: Walls = defaultdict(lambda: defaultdict(list))
    for round_ in range(rounds):
        for condition in CONDITIONS:
            setup.say(f"{shape.name}: round {round_ + 1} of {rounds}, {condition.name}")
            asks = [Ask(prompts.pop(), tokens) for _ in range(AT_ONCE)]

            async def work(contender: Contender, condition: Condition = condition, asks: list[Ask] = asks) -> None:
                walls[contender.name][condition].append(wall(await together(contender, asks)))

            async with busy(condition.processes, condition.niceness):
                await in_turn(field.contenders, round_, work)
    return walls


def rows(shape: str, field: Field, walls: Walls) -> list[Row]:
    """Ours beside each busy neighbour against idle, and in every condition against every peer."""
    mine = walls[field.contenders[0].name]
    found = []
    for condition in CONDITIONS:
        name = f"{shape}: {AT_ONCE} text streams {condition.name}, wall"
        if condition is not IDLE:
            bar = SLOWER if condition in BESIDE_ONE else None
            found.append(_against_idle(name, mine, condition, bar))
        for peer in (PLAIN, OLLAMA):
            if why := field.missing.get(peer):
                found.append(absent(name, median(mine[condition]), "s", peer, why))
            else:
                bar = _NO_SLOWER if condition in BESIDE_ONE else None
                found.append(against(name, mine[condition], "s", peer, walls[peer][condition], bar))
    return found


def _against_idle(name: str, mine: dict[Condition, list[float]], condition: Condition, bar: float | None) -> Row:
    return against(name, mine[condition], "s", f"itself {IDLE.name}", mine[IDLE], bar)
