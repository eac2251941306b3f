"""A server that is watched beside one that is not: turns alone, and as many as it can answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from statistics import median
from urllib.request import urlopen

from bench.engine.server.serving import Stock, closed_loop, good
from bench.hostile.sections import Setup
from bench.network.serving import client_of, first_words, serving
from bench.results import Row, spread
from bench.sections import Part
from quizglass_client.local import LocalServer

SHARE = 0.01
_CLIENTS = 8
_EVERY_S = 1.0


async def run(setup: Setup) -> Part:
    """Both are there at once and are asked in turn. The one with metrics is scraped every second."""
    async with (
        serving(setup, "unwatched", []) as (without, _),
        serving(setup, "watched", ["--operations-port", "0"]) as (watched, stock),
    ):
        scraping = asyncio.create_task(_scrape(watched))
        try:
            part = Part()
            await _turns(setup, part, without, watched, stock)
            await _goodput(setup, part, without, watched, stock)
        finally:
            scraping.cancel()
            with suppress(asyncio.CancelledError):
                await scraping
    return part


async def _turns(setup: Setup, part: Part, without: LocalServer, watched: LocalServer, stock: Stock) -> None:
    setup.say("turns one at a time, in turn")
    times: dict[str, list[float]] = {"without": [], "watched": []}
    async with client_of(without) as plain, client_of(watched) as seen:
        for number in range(setup.count(400, 6)):
            question, (one, other) = stock.twins()
            ways = [("without", plain, one), ("watched", seen, other)]
            for way, client, picture in ways if number % 2 else reversed(ways):
                times[way].append(await first_words(client, question, picture) * 1e3)
    ours, theirs = median(times["watched"]), median(times["without"])
    more = median(b / a for a, b in zip(times["without"], times["watched"], strict=True))
    part.rows.append(Row("first words with metrics, p50", ours, "ms", "without", theirs))
    bar = f"<= {1 + SHARE:g}"
    part.rows.append(
        Row("the same, against the same question without, p50", more, "times", bar=bar, ok=more <= 1 + SHARE)
    )
    part.data["first_words_ms"] = times


async def _goodput(setup: Setup, part: Part, without: LocalServer, watched: LocalServer, stock: Stock) -> None:
    setup.say("as many turns as there can be, in turn")
    seconds = setup.count(10, 2)
    rates: dict[str, list[float]] = {"without": [], "watched": []}
    async with client_of(without) as plain, client_of(watched) as seen:
        for number in range(setup.count(6, 1)):
            ways = [("without", plain), ("watched", seen)]
            for way, client in ways if number % 2 else reversed(ways):
                await stock.ahead(_CLIENTS * 8)
                rates[way].append(good(await closed_loop(client, stock, _CLIENTS, seconds), seconds))
    ours, theirs = median(rates["watched"]), median(rates["without"])
    kept = ours / theirs if theirs else 0.0
    named = f"turns a second with metrics, {_CLIENTS} clients ({spread(rates['watched'])})"
    peer = f"without ({spread(rates['without'])})"
    part.rows.append(Row(named, ours, "a second", peer, theirs, kept, f">= {1 - SHARE:g}x", kept >= 1 - SHARE))
    part.data["turns_a_second"] = rates


async def _scrape(server: LocalServer) -> None:
    while True:
        await asyncio.to_thread(lambda: urlopen(f"{server.operations}/metrics").read())
        await asyncio.sleep(_EVERY_S)
