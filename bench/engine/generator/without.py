"""What each of the engine's finer parts earns: the same work with each of them left out in turn.

Every variant is a process of its own; they take turns, round by round, on the same prompts and pictures. The whole
engine takes part twice: what the second differs from the first is the spread that a part must beat in some measure.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from statistics import fmean, median

from bench.engine.contenders.contender import Ask, Contender, complete, in_turn, together, wall
from bench.engine.contenders.ours import Ours, new_picture
from bench.engine.contenders.running import ANSWER_TOKENS, CONTEXT, long_prompts
from bench.engine.contenders.shapes import Shape
from bench.engine.figures import percentile
from bench.engine.generator.lesser_child import FULL, PARTS
from bench.engine.generator.pictures import disturbed
from bench.engine.sections import Setup
from bench.results import Row
from bench.sections import Part

_CHILD = Path(__file__).with_name("lesser_child.py")
_AGAIN = "nothing, again"
_STREAMS = 4
_STREAM_TOKENS = {"starter": 60}
"""Of the stream that is disturbed; the starter hardly ever writes more."""
_LONG_STREAM = 80
_MOST_ROUNDS = {"starter": 5}
"""The whole section is to take about ten minutes."""
_MOST_LONG_ROUNDS = 3
_QUESTIONS = ("What is this?", "Who made the thing in the picture?")
_PICTURE_TOKENS = 8
_LEAST_SPREAD = 0.02
"""Of any measure, however alike two runs happen to be."""
MEASURES = {
    "wall": (f"{_STREAMS} text streams, wall", "s"),
    "first": (f"{_STREAMS} text streams, mean first token", "s"),
    "second": ("second question, first token", "s"),
    "gap": ("gap beside a picture, p99", "s"),
}
Times = dict[str, dict[str, list[float]]]
"""By variant and measure, a value a round."""


async def run(setup: Setup) -> Part:
    """Every model and every part."""
    part = Part()
    for shape in setup.shapes():
        times = await _of_shape(setup, shape)
        part.rows += rows(shape.name, times)
        part.data[shape.name] = {name: dict(values) for name, values in times.items()}
    return part


async def _of_shape(setup: Setup, shape: Shape) -> Times:
    rounds = min(setup.rounds, _MOST_ROUNDS.get(shape.name, _MOST_LONG_ROUNDS))
    tokens = _STREAM_TOKENS.get(shape.name, _LONG_STREAM)
    prompts = await long_prompts(setup, shape, (rounds + 1) * _STREAMS)
    long = await long_prompts(setup, shape, rounds + 1, tokens)
    times: Times = defaultdict(lambda: defaultdict(list))
    async with AsyncExitStack() as stack:
        variants: list[Contender] = []
        for name in (FULL, _AGAIN, *(part for part in PARTS if part != FULL)):
            setup.say(f"{shape.name}: starting without {name}")
            variants.append(await _start(setup, shape, name))
            stack.push_async_callback(variants[-1].close)
        for round_ in range(rounds + 1):
            setup.say(f"{shape.name}: round {round_} of {rounds}, {len(variants)} variants")
            asks = [Ask(prompts.pop(), ANSWER_TOKENS) for _ in range(_STREAMS)]
            ask, picture = Ask(long.pop(), tokens), new_picture(shape.side, round_)
            work = partial(_work, times=times, asks=asks, ask=ask, picture=picture, side=shape.side, seed=round_ + 1)
            await in_turn(variants, round_, work)
            if not round_:
                times.clear()  # that warmed them up
    return times


async def _start(setup: Setup, shape: Shape, name: str) -> Ours:
    part = FULL if name == _AGAIN else name
    variant = await Ours.start(shape, setup.threads, CONTEXT, program=(sys.executable, "-P", str(_CHILD), part))
    variant.name = name
    return variant


async def _work(
    variant: Contender, times: Times, asks: Sequence[Ask], ask: Ask, picture: bytes, side: int, seed: int
) -> None:
    """One round of one variant."""
    took = times[variant.name]
    timed = await together(variant, asks)
    took["wall"].append(wall(timed))
    took["first"].append(fmean(each.first for each in timed))
    for question in _QUESTIONS:
        second = await complete(variant, Ask(question, _PICTURE_TOKENS, picture))
    took["second"].append(second.first)
    if gaps := await disturbed(variant, ask, side, seed):
        took["gap"].append(percentile(gaps, 0.99))


def rows(model: str, times: Times) -> list[Row]:
    """Of each part the measure that suffers most without it, and whether by more than the spread."""
    whole, again = times[FULL], times[_AGAIN]
    spread = {measure: _spread(whole[measure], again[measure]) for measure in MEASURES if whole[measure]}
    table = []
    for name, lesser in times.items():
        if name in (FULL, _AGAIN):
            continue
        ratio = {
            measure: median(lesser[measure]) / median([*whole[measure], *again[measure]])
            for measure in spread
            if lesser[measure]
        }
        if not ratio:
            continue
        worst = max(ratio, key=lambda measure: (ratio[measure] - 1) / max(spread[measure], _LEAST_SPREAD))
        earns = "earns" if ratio[worst] > 1 + max(spread[worst], _LEAST_SPREAD) else "earns nothing"
        what, unit = MEASURES[worst]
        label = f"{model}: without {name} ({earns}; spread {spread[worst]:.0%}): {what}"
        without, with_ = median(lesser[worst]), median([*whole[worst], *again[worst]])
        table.append(Row(label, without, unit, "with", with_, ratio[worst]))
    return table


def _spread(first: Sequence[float], second: Sequence[float]) -> float:
    """How far two runs of the same, round by round and as a whole, are apart."""
    ratios = [b / a for a, b in zip(first, second, strict=False)]
    return max((abs(ratio - 1) for ratio in (*_quartiles(ratios),)), default=0.0)


def _quartiles(values: Sequence[float]) -> tuple[float, ...]:
    return (percentile(values, 0.25), median(values), percentile(values, 0.75)) if values else ()
