"""What a wheel that runs on every CPU costs: llama.cpp alone in it, and compiled for this machine as plain pip does it.

The same prompts in turn, each build in a process of its own; the peers' environment has the other build.
"""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from pathlib import Path

from bench.engine.contenders.bare import BareProcess
from bench.engine.contenders.floor import Floor
from bench.engine.contenders.peers import PeerMissing
from bench.engine.contenders.running import ANSWER_TOKENS, CONTEXT, PROMPT_WORDS
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.figures import words
from bench.results import Row, against, measured
from bench.sections import Part

AT_ONCE = 4
WITHIN = 1.03
_TIMES = 4
"""Runs for each round of other sections: three in a hundred are hard to tell apart."""
_OTHER = "compiled with -march=native"


async def run(setup: Setup) -> Part:
    """Every model in both builds."""
    part = Part()
    for shape in setup.shapes():
        setup.say(f"{shape.name}: starting llama.cpp twice")
        async with AsyncExitStack() as stack:
            ours = await _start(setup, shape, Path(sys.executable), stack)
            try:
                other = await _start(setup, shape, setup.peers.python, stack)
            except PeerMissing as error:
                setup.say(str(error))
                part.rows += await _alone(setup, shape, ours, str(error))
                continue
            mine, theirs = await _rounds(setup, shape, ours, other)
        part.rows += rows(shape.name, ours.variant, mine, theirs)
        part.data[shape.name] = {"variant": ours.variant, "ours": _series(mine), "native": _series(theirs)}
    return part


async def _start(setup: Setup, shape: Shape, python: Path, stack: AsyncExitStack) -> BareProcess:
    log = setup.folder / f"bare-{python.parents[1].name}.log"
    process = await BareProcess.start(python, shape, setup.threads, CONTEXT, AT_ONCE, log)
    stack.push_async_callback(process.close)
    return process


async def _rounds(setup: Setup, shape: Shape, ours: BareProcess, other: BareProcess) -> tuple[list[Floor], list[Floor]]:
    found: tuple[list[Floor], list[Floor]] = ([], [])
    count = setup.count(_TIMES * setup.rounds, 1)
    for round_ in range(-1, count):
        setup.say(f"{shape.name}: run {round_ + 1} of {count} of each build")
        prompts = _prompts(round_)
        for which in ((0, 1), (1, 0))[round_ % 2]:
            floor = await (ours, other)[which].measure(prompts, ANSWER_TOKENS)
            if round_ >= 0:  # the first warms both up
                found[which].append(floor)
    return found


def rows(shape: str, variant: str, mine: list[Floor], theirs: list[Floor]) -> list[Row]:
    """Reading and writing, each against the other build."""
    return [
        against(
            f"{shape}: llama.cpp alone in the wheel for every CPU ({variant}) {verb} {AT_ONCE} {what}",
            values,
            "s",
            _OTHER,
            others,
            WITHIN,
        )
        for verb, what, values, others in (
            ("reads", "prompts", [sum(each.reading) for each in mine], [sum(each.reading) for each in theirs]),
            ("writes", "answers", [each.writing for each in mine], [each.writing for each in theirs]),
        )
    ]


async def _alone(setup: Setup, shape: Shape, ours: BareProcess, why: str) -> list[Row]:
    """The other build does not run on this machine."""
    floors = [await ours.measure(_prompts(round_), ANSWER_TOKENS) for round_ in range(setup.rounds)]
    name = f"{shape.name}: llama.cpp alone in the wheel for every CPU ({ours.variant})"
    reads = measured(f"{name} reads {AT_ONCE} prompts", [sum(each.reading) for each in floors], "s")
    writes = measured(f"{name} writes {AT_ONCE} answers", [each.writing for each in floors], "s")
    return [Row(row.name, row.value, row.unit, f"{_OTHER} not run: {why}") for row in (reads, writes)]


def _prompts(round_: int) -> list[str]:
    return [words(PROMPT_WORDS, 1000 * (round_ + 2) + index) for index in range(AT_ONCE)]


def _series(floors: list[Floor]) -> dict[str, list[float]]:
    return {"reading": [sum(each.reading) for each in floors], "writing": [each.writing for each in floors]}
