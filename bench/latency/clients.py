"""Four clients at once, each of which asks again as soon as it has its answer: turns a second."""

from __future__ import annotations

import asyncio
from statistics import median

from bench.engine.server.serving import Stock, closed_loop
from bench.latency.setup import OURS, PEER, Setup
from bench.results import Row, ratio, spread
from bench.sections import Part
from quizglass_client import AsyncClient
from quizglass_client.local import LocalServer

CLIENTS = 4
_TIMES = 1.15
_AHEAD = 64


def run(setup: Setup) -> Part:
    """Rounds of each server in turn."""
    stock = Stock(setup.trial().questions)
    seconds, found = float(setup.count(10, 3)), dict[str, list[float]]()
    with setup.servers() as servers:
        for name in servers:
            asyncio.run(_round(servers[name], stock, 3.0))
        for number in range(setup.count(8, 1)):
            for name in setup.names[:: 1 if number % 2 else -1]:
                setup.say(f"four clients: round {number + 1}, {name}")
                found.setdefault(name, []).append(asyncio.run(_round(servers[name], stock, seconds)))
    name, ours = f"{CLIENTS} clients ({spread(found[OURS])})", median(found[OURS])
    if PEER not in found:
        return Part([Row(name, ours, "turns/s")], dict(found))
    theirs = median(found[PEER])
    times = ratio(ours, theirs)
    peer, bar = f"{setup.peer_name} ({spread(found[PEER])})", f">= {_TIMES:g}x peer"
    ok = times is not None and times >= _TIMES
    return Part([Row(name, ours, "turns/s", peer, theirs, times, bar, ok)], dict(found))


async def _round(server: LocalServer, stock: Stock, seconds: float) -> float:
    """Turns a second that were answered."""
    await stock.ahead(_AHEAD)
    async with AsyncClient(server.target) as client:
        found = await closed_loop(client, stock, CLIENTS, seconds)
    ends = max(each.sent + each.took for each in found) - min(each.sent for each in found)
    return sum(each.kind == "answered" for each in found) / ends
