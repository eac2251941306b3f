"""Goodput under overload: a whole server asked four times as fast as it can answer.

First clients that wait for their answers, in growing numbers, find the rate at which the server answers most turns in
time. Then turns arrive at four times that rate whether or not there are answers, alternating with the best number of
waiting clients. A turn counts when it is answered within 5 seconds, and before the measurement ends.
"""

from __future__ import annotations

from statistics import median

from bench.engine.contenders.setup import Setup
from bench.engine.figures import arrivals, percentile
from bench.engine.server.serving import Stock, closed_loop, good, kinds, open_loop, served
from bench.results import Row, at_most, measured, spread
from bench.sections import Part
from quizglass_client import AsyncClient

_CLIENTS = (1, 2, 4, 8, 16)
_TIMES = 4


async def run(setup: Setup) -> Part:
    """Sweep, then overload and peak by turns."""
    sweep_s, overload_s = setup.count(8, 2), setup.count(12, 3)
    rounds = setup.count(max(3, setup.rounds // 2), 1)
    peaks: list[float] = []
    overloaded: list[float] = []
    refusals: list[float] = []
    seen = []
    async with served(setup) as (server, trial), AsyncClient(server.target) as client:
        stock = Stock(trial.questions)
        setup.say("warming up")
        warm = await closed_loop(client, stock, 2, sweep_s / 2)
        enough = 3 * len(warm)  # pictures for one measurement of the sweep
        rates = {}
        for clients in _CLIENTS:
            setup.say(f"{clients} clients that wait")
            await stock.ahead(enough)
            rates[clients] = good(await closed_loop(client, stock, clients, sweep_s), sweep_s)
        best = max(rates, key=lambda clients: rates[clients])
        for round_ in range(rounds):
            setup.say(f"round {round_ + 1} of {rounds}: {best} clients that wait")
            await stock.ahead(round(1.5 * rates[best] * overload_s))
            peaks.append(good(await closed_loop(client, stock, best, overload_s), overload_s))
            rate = _TIMES * max(rates[best], *peaks)
            setup.say(f"round {round_ + 1} of {rounds}: {rate:.0f} turns a second")
            outcomes = await open_loop(client, stock, arrivals(rate, overload_s, round_))
            overloaded.append(good(outcomes, overload_s))
            refusals += [1e3 * each.took for each in outcomes if each.kind == "refused"]
            seen.append(kinds(outcomes))
    return Part(
        _rows(peaks, overloaded, refusals),
        {"sweep": rates, "best": best, "peak": peaks, "overload": overloaded, "outcomes": seen},
    )


def _rows(peaks: list[float], overloaded: list[float], refusals: list[float]) -> list[Row]:
    of = median(overloaded) / median(peaks) if median(peaks) else None
    rows = [
        Row(
            f"goodput at {_TIMES}x the load it can carry ({spread(overloaded)})",
            median(overloaded),
            "turns/s",
            f"its own peak ({spread(peaks)})",
            median(peaks),
            of,
            ">= 0.9x peer",
            of is not None and of >= 0.9,
        )
    ]
    if not refusals:
        return [*rows, Row("refusals under that load", 0, "turns", bar="> 0", ok=False)]
    return [
        *rows,
        at_most(f"time to a refusal, p99 of {len(refusals)}", percentile(refusals, 0.99), "ms", 10),
        measured("time to a refusal", refusals, "ms"),
    ]
