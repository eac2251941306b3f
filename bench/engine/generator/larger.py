"""A 2 GB generator beside plain llama-server: how long it takes to start, its first words, its memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter

from bench.engine.contenders.contender import Ask, complete
from bench.engine.contenders.ours import Ours, new_picture
from bench.engine.contenders.peers import PLAIN, HttpPeer, PeerMissing
from bench.engine.contenders.running import CONTEXT, PROMPT_WORDS
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import Shape
from bench.engine.figures import words
from bench.engine.scorers.memory import memory_kib
from bench.results import Row, absent, against
from bench.sections import Part

_ANSWER_TOKENS = 8
_FIRST_WORDS = 1.05
_FIGURES = {
    "start": ("start until it serves", "s", None),
    "text": ("a prompt of 250 tokens, first token", "s", _FIRST_WORDS),
    "picture": ("first question about a picture, first token", "s", _FIRST_WORDS),
    "memory": ("memory at most", "MiB", None),
}
"""What is measured: its name in the table, its unit, and at most how many times the peer's."""
Values = dict[str, dict[str, list[float]]]
"""By figure and contender."""


async def run(setup: Setup) -> Part:
    """Ours and the peer in turn, each with the machine to itself."""
    shape = setup.two_billion()
    rounds = min(3, setup.rounds)
    values: Values = defaultdict(lambda: defaultdict(list))
    missing = ""
    starts: list[Callable[[], Awaitable[Ours | HttpPeer]]] = [
        lambda: Ours.start(shape, setup.threads, CONTEXT),
        lambda: setup.peers.start(PLAIN, shape),
    ]
    for round_ in range(rounds):
        for start in starts if round_ % 2 == 0 else reversed(starts):
            setup.say(f"{shape.name}: round {round_ + 1} of {rounds}")
            try:
                await _one(start, shape, round_, values)
            except PeerMissing as error:
                missing = str(error)
    return Part(_rows(shape, values, missing), {figure: dict(each) for figure, each in values.items()})


async def _one(start: Callable[[], Awaitable[Ours | HttpPeer]], shape: Shape, round_: int, values: Values) -> None:
    """Start one, ask it, and end it."""
    began = perf_counter()
    contender = await start()
    try:
        values["start"][contender.name].append(perf_counter() - began)
        await complete(contender, Ask(words(8, 90 + round_), 2))  # warms it up
        for figure, ask in (
            ("text", Ask(words(PROMPT_WORDS, 100 + round_), _ANSWER_TOKENS)),
            ("picture", Ask("What is this?", _ANSWER_TOKENS, new_picture(shape.side, round_))),
        ):
            values[figure][contender.name].append((await complete(contender, ask)).first)
        pid = contender.process.pid if isinstance(contender, Ours) else contender.pid
        values["memory"][contender.name].append(memory_kib("VmHWM", pid or 0) / 1024)
    finally:
        await contender.close()


def _rows(shape: Shape, values: Values, missing: str) -> list[Row]:
    rows = []
    for figure, (name, unit, bar) in _FIGURES.items():
        ours, theirs = values[figure]["quizglass"], values[figure][PLAIN]
        told = f"{shape.name}: {name}"
        if theirs:
            rows.append(against(told, ours, unit, PLAIN, theirs, bar))
        else:
            rows.append(absent(told, median(ours), unit, PLAIN, missing))
    return rows
