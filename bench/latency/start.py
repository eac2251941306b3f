"""From being started to being ready, and memory: fresh, and after many turns."""

from __future__ import annotations

import asyncio
from statistics import median
from time import perf_counter

from bench.engine.server.serving import Stock, ask
from bench.hostile.stage import tree_mib
from bench.latency.setup import OURS, PEER, Setup
from bench.results import Row, against, at_most, spread
from bench.sections import Part
from quizglass_client import AsyncClient

_READY_S, _FRESH_MIB, _GROWN = 1.6, 300.0, 1.3
_SETTLE_S = 2.0


def starts(setup: Setup) -> Part:
    """Each server in turn, with the world's knowledge."""
    for name in setup.names:
        with setup.server(name):  # imports, and has whatever is kept from one start to the next
            pass
    took: dict[str, list[float]] = {name: [] for name in setup.names}
    fresh: list[float] = []
    for number in range(setup.count(9, 1)):
        for name in setup.names[:: 1 if number % 2 else -1]:
            setup.say(f"start {number + 1}, {name}")
            began = perf_counter()
            with setup.started(name) as server:
                took[name].append(perf_counter() - began)
                if name == OURS:
                    fresh.append(tree_mib(server.pid))
    ready = at_most(f"start to ready ({spread(took[OURS])})", median(took[OURS]), "s", _READY_S)
    rows = [ready, at_most(f"memory fresh ({spread(fresh)})", median(fresh), "MiB", _FRESH_MIB)]
    if PEER in took:
        rows.append(against("start to ready", took[OURS], "s", setup.peer_name, took[PEER]))
    return Part(rows, {**took, "fresh": fresh})


def memory(setup: Setup) -> Part:
    """One server, before and after many turns, each about a picture of its own."""
    turns = setup.count(10_000, 100)
    stock = Stock(setup.trial().questions)
    with setup.server(OURS) as server:
        fresh = tree_mib(server.pid)
        grown = asyncio.run(_grown(setup, server.target, server.pid, stock, turns))
    times = grown[-1] / fresh
    name, bar = f"memory after {turns:,} turns", f"<= {_GROWN:g}x fresh"
    return Part(
        [Row(name, grown[-1], "MiB", "fresh", fresh, times, bar, times <= _GROWN)],
        {"fresh": fresh, "grown": [round(each, 1) for each in grown]},
    )


async def _grown(setup: Setup, target: str, pid: int, stock: Stock, turns: int) -> list[float]:
    """MiB after each hundredth of the turns, the last a moment after all."""
    found: list[float] = []
    async with AsyncClient(target) as client:
        for number in range(turns):
            await ask(client, *next(stock))
            if number % max(1, turns // 100) == 0:
                setup.say(f"memory: turn {number + 1} of {turns}")
                found.append(tree_mib(pid))
        await asyncio.sleep(_SETTLE_S)
    return [*found, tree_mib(pid)]
