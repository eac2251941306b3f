"""A generator of 1.5B in Q4_K_M with random weights: ours, plain llama-server and PyTorch in float16, in turn.

The GGUF files are written where it runs. One stream and eight, 250 tokens of prompt each; and the first token of a
question about a new picture. `--quick` takes the starter's generator, wherever llama.cpp runs it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import AsyncExitStack
from functools import partial
from statistics import median

from bench.engine.contenders.contender import Ask, Contender, complete, in_turn, together, tokens, wall
from bench.engine.contenders.larger import ONE_AND_A_HALF_BILLION, larger
from bench.engine.contenders.ours import Ours, new_picture
from bench.engine.contenders.peers import PLAIN, PeerMissing, Peers
from bench.engine.contenders.running import CONTEXT, PROMPT_WORDS
from bench.engine.contenders.shapes import Shape, starter
from bench.engine.figures import words
from bench.gpu import peers
from bench.hostile.sections import Setup
from bench.results import Row, absent, against, ratio, spread
from bench.sections import Part
from quizglass_server.engines.generator.process.card import room
from quizglass_server.engines.generator.process.programs import find_program
from quizglass_server.scheduling.cores import usable_cores

STREAMS = (1, 8)
_TOKENS = 64
_PROMPT_TOKENS = 250
_LEAST = 0.95
"""Of plain llama-server's tokens a second."""
_CELLS = 8 * CONTEXT
Values = dict[str, dict[str, list[float]]]
"""By figure and contender."""


def run(setup: Setup) -> Part:
    """Start both on one model, and ask them in turn."""
    return asyncio.run(_run(setup))


async def _run(setup: Setup) -> Part:
    shape = starter(setup.bundle) if setup.quick else _written(setup)
    values: Values = defaultdict(lambda: defaultdict(list))
    missing, threads = "", usable_cores()
    async with AsyncExitStack() as stack:
        setup.say(f"{shape.name}: starting")
        there = await asyncio.to_thread(room, find_program(), 0.9, 0)
        ours = await Ours.start(shape, threads, CONTEXT, generator_cells=_CELLS, room=there)
        stack.push_async_callback(ours.close)
        if ours.process.executor != "gpu" and not setup.quick:
            raise RuntimeError(
                f"{ours.process.program} computes on the CPU: compile one for cards (make gpu-check does)"
            )
        contenders: list[Contender] = [ours]
        try:
            peer = await Peers(setup.folder / "gpu", threads, _CELLS).start(PLAIN, shape)
            stack.push_async_callback(peer.close)
            contenders.append(peer)
        except PeerMissing as error:
            missing = str(error)
        await _rounds(setup, shape, contenders, values)
        placed = ours.process.on_card or "on the CPU"
    return Part(
        _rows(setup, shape, values, missing), {"placed": placed, **{key: dict(each) for key, each in values.items()}}
    )


def _written(setup: Setup) -> Shape:
    folder, tokenizer = setup.folder / "gpu" / "1.5b", setup.bundle / "tokenizer" / "tokenizer.json"
    return larger(ONE_AND_A_HALF_BILLION, folder, tokenizer, setup.say)


async def _rounds(setup: Setup, shape: Shape, contenders: list[Contender], values: Values) -> None:
    """Every round asks new prompts, the same ones of all; the first one warms up."""
    written = setup.count(_TOKENS, 4)
    for round_ in range(1 + setup.count(7, 1)):
        setup.say(f"{shape.name}: round {round_}")
        for streams in STREAMS:
            asks = [Ask(words(PROMPT_WORDS, 1000 * round_ + 10 * streams + each), written) for each in range(streams)]
            await in_turn(contenders, round_, partial(_speed, values, asks, warming=not round_))
        ask = Ask("What is this?", 2, new_picture(shape.side, round_))
        await in_turn(contenders, round_, partial(_first, values, ask, warming=not round_))


async def _speed(values: Values, asks: list[Ask], contender: Contender, *, warming: bool) -> None:
    timed = await together(contender, asks)
    if not warming:
        values[f"{len(asks)}"][contender.name].append(tokens(timed) / wall(timed))


async def _first(values: Values, ask: Ask, contender: Contender, *, warming: bool) -> None:
    timed = await complete(contender, ask)
    if not warming:
        values["picture"][contender.name].append(timed.first * 1e3)


def _rows(setup: Setup, shape: Shape, values: Values, missing: str) -> list[Row]:
    rows = []
    for streams in STREAMS:
        found = values[f"{streams}"]
        ours, theirs = found["quizglass"], found[PLAIN]
        name = f"generator {shape.name}, {streams} at once, prompts read within it"
        if theirs:
            of = ratio(median(ours), median(theirs))
            ok = of is not None and of >= _LEAST
            peer = f"{PLAIN} ({spread(theirs)})"
            told = f"{name} ({spread(ours)})"
            rows.append(Row(told, median(ours), "tokens/s", peer, median(theirs), of, f">= {_LEAST:g}x peer", ok))
        else:
            rows.append(absent(name, median(ours), "tokens/s", PLAIN, missing))
        rows.append(_beside_torch(setup, name, ours, streams))
    ours, theirs = values["picture"]["quizglass"], values["picture"][PLAIN]
    name = f"generator {shape.name}, first token about a new picture"
    rows.append(
        against(name, ours, "ms", PLAIN, theirs) if theirs else absent(name, median(ours), "ms", PLAIN, missing)
    )
    return rows


def _beside_torch(setup: Setup, name: str, ours: list[float], streams: int) -> Row:
    """Beside PyTorch in float16, whose weights are three times as large."""
    speed = peers.writing(ONE_AND_A_HALF_BILLION, streams, _PROMPT_TOKENS, _TOKENS)
    if speed is None:
        return absent(name, median(ours), "tokens/s", peers.WRITING, "torch has no card")
    speed()
    return against(name, ours, "tokens/s", peers.WRITING, [speed() for _ in range(setup.count(5, 1))])
