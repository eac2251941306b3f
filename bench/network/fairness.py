"""A quiet tenant beside one that sends ten times its share: how much later its answers come."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from statistics import median

from bench.engine.figures import percentile
from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.network.serving import client_of, first_words, protected, serving
from bench.results import Row
from bench.sections import Part
from quizglass_client import AsyncClient, Overloaded

BAR = 1.5
_TIMES = 10
_REST_S = 0.05
_AHEAD = 24
"""Pictures for each of the quiet tenant's questions: the loud one asks more often than that."""
_ROUNDS, _QUESTIONS = 10, 20


async def run(setup: Setup) -> Part:
    """The quiet tenant asks some questions one after the other, alone, then the same beside ten clients of another."""
    access, part = protected(setup), Part()
    quiet, loud = (access.add(name, "ask,read", "--tenant", name) for name in ("quiet", "loud"))
    flags = ["--tenants", str(setup.folder / "network-tenants"), "--share-knowledge"]
    times: dict[str, list[float]] = {"alone": [], "beside": []}
    answered: list[float] = []
    count = setup.count(_QUESTIONS, 3)
    async with serving(setup, "fair", flags, access) as (server, stock), client_of(server, access, quiet) as client:
        for _ in range(setup.count(_ROUNDS, 1)):
            await stock.ahead((1 + _AHEAD) * count)  # made meanwhile, they would take the time that is measured
            twins = [stock.twins() for _ in range(count)]
            asked = {
                way: [(question, pictures[number]) for question, pictures in twins] for number, way in enumerate(times)
            }
            times["alone"] += [await first_words(client, *each) * 1e3 for each in asked["alone"]]
            async with client_of(server, access, loud) as other:
                crowd = [asyncio.create_task(_crowd(other, stock, answered)) for _ in range(_TIMES)]
                times["beside"] += [await first_words(client, *each) * 1e3 for each in asked["beside"]]
                for task in crowd:
                    task.cancel()
                await asyncio.gather(*crowd, return_exceptions=True)
    alone, beside = (percentile(times[way], 0.95) for way in ("alone", "beside"))
    more = beside / alone
    part.rows += [
        Row("quiet tenant, p95", beside, "ms", "alone", alone, more, f"<= {BAR:g}x", more <= BAR),
        Row("quiet tenant, p50", median(times["beside"]), "ms", "alone", median(times["alone"])),
        Row("answers to the loud tenant meanwhile", len(answered), "answers", "to the quiet one", len(times["beside"])),
    ]
    part.data |= {f"{way}_ms": every for way, every in times.items()}
    return part


async def _crowd(client: AsyncClient, stock: Stock, answered: list[float]) -> None:
    while True:
        with suppress(Overloaded):
            answered.append(await first_words(client, *next(stock)))
            continue
        await asyncio.sleep(_REST_S)
