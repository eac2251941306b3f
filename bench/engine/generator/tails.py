"""The slowest of many: one stream 500 times on an idle machine, and turns beside two busy processes.

Threads of one model wait for each other: where one loses its core, all do, and the median does not show it.
"""

from __future__ import annotations

from bench.busy import busy
from bench.engine.contenders.contender import Ask, complete, wall
from bench.engine.contenders.peers import PLAIN
from bench.engine.contenders.running import ANSWER_TOKENS, running
from bench.engine.contenders.setup import Setup
from bench.engine.contenders.shapes import starter
from bench.engine.figures import percentile, words
from bench.engine.server.serving import Stock, ask, kinds, served
from bench.results import Row, at_most, measured, ratio
from bench.sections import Part
from quizglass_client import AsyncClient

_PROMPT_WORDS = 60
_PATIENT_S = 60.0
"""For a turn beside busy processes: one that takes so long counts as that."""


async def run(setup: Setup) -> Part:
    """Both."""
    streams, turns = await _streams(setup), await _turns(setup)
    return Part(streams.rows + turns.rows, {"streams": streams.data, "turns": turns.data})


async def _streams(setup: Setup) -> Part:
    """One stream after the other, ours and the peer's by turns."""
    count = setup.count(500, 20)
    took: dict[str, list[float]] = {}
    async with running(setup, starter(setup.bundle), (PLAIN,)) as field:
        for number in range(-5, count):
            setup.say(f"starter: stream {number + 1} of {count}")
            prompt = Ask(words(_PROMPT_WORDS, 1000 + number), ANSWER_TOKENS)
            for contender in field.contenders:
                seconds = wall([await complete(contender, prompt)])
                if number >= 0:
                    took.setdefault(contender.name, []).append(1e3 * seconds)
    ours, *peers = took.items()
    rows = slowest(f"starter: one stream on an idle machine, {count} times", ours[1], "ms", 3, 8)
    for name, theirs in peers:
        rows += slowest(f"starter: one stream of {name}, {count} times", theirs, "ms")
    return Part(rows, dict(took))


async def _turns(setup: Setup) -> Part:
    """Whole turns of a server, one after the other, beside two busy processes."""
    count = setup.count(400, 20)
    async with served(setup) as (server, trial), AsyncClient(server.target) as client:
        stock = Stock(trial.questions)
        for _ in range(10):
            await ask(client, *next(stock), _PATIENT_S)
        async with busy(2, 0):
            outcomes = []
            for number in range(count):
                setup.say(f"turn {number + 1} of {count} beside two busy processes")
                outcomes.append(await ask(client, *next(stock), _PATIENT_S))
    took = [1e3 * each.took for each in outcomes]
    failed = sum(each.kind != "answered" for each in outcomes)
    rows = slowest(f"a turn beside two busy processes, {count} times", took, "ms", 5)
    rows.append(at_most(f"{count} turns beside two busy processes: not answered", failed, "turns", 0))
    return Part(rows, {"ms": took, "outcomes": kinds(outcomes)})


def slowest(
    name: str, values: list[float], unit: str, p99_bar: float | None = None, longest_bar: float | None = None
) -> list[Row]:
    """Median, 99th percentile and longest; with bars, at most so many times the median."""
    rows = [measured(name, values, unit)]
    middle = rows[0].value or 0.0
    for what, value, bar in (
        ("99th percentile", percentile(values, 0.99), p99_bar),
        ("longest", max(values), longest_bar),
    ):
        of = ratio(value, middle)
        text, ok = ("", None) if bar is None else (f"<= {bar:g}x peer", of is not None and of <= bar)
        rows.append(Row(f"{name}: {what}", value, unit, "its median", middle, of, text, ok))
    return rows
