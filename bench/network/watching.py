"""Servers with metrics, and with traces, beside one with neither: turns alone, and as many as it can answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from threading import Thread
from urllib.request import urlopen

from bench.engine.server.serving import Stock, closed_loop, good
from bench.hostile.sections import Setup
from bench.network.serving import client_of, first_words, serving
from bench.results import Row, spread
from bench.sections import Part
from quizglass_client.local import LocalServer

SHARES = {"metrics": 0.01, "traces": 0.03}
"""The bars: how much slower a turn may be, and how many fewer there may be."""
_CLIENTS = 8
_EVERY_S = 1.0


async def run(setup: Setup) -> Part:
    """Each is there at once with one that has neither, and they are asked in turn.

    Metrics are scraped every second; spans of all turns go to a collector in this process, which throws them away.
    """
    part = Part()
    with _collector() as url:
        for name, flags in (("metrics", ["--operations-port", "0"]), ("traces", ["--traces-url", url])):
            async with (
                serving(setup, "unwatched", []) as (without, _),
                serving(setup, "watched", flags) as (seen, stock),
            ):
                scraping = asyncio.create_task(_scrape(seen))
                try:
                    await _turns(setup, part, name, without, seen, stock)
                    await _goodput(setup, part, name, without, seen, stock)
                finally:
                    scraping.cancel()
                    with suppress(asyncio.CancelledError):
                        await scraping
    return part


async def _turns(setup: Setup, part: Part, name: str, without: LocalServer, watched: LocalServer, stock: Stock) -> None:
    setup.say(f"{name}: turns one at a time, in turn")
    times: dict[str, list[float]] = {"without": [], name: []}
    async with client_of(without) as plain, client_of(watched) as seen:
        for number in range(setup.count(250, 6)):
            question, (one, other) = stock.twins()
            ways = [("without", plain, one), (name, seen, other)]
            for way, client, picture in ways if number % 2 else reversed(ways):
                times[way].append(await first_words(client, question, picture) * 1e3)
    more = median(ours / theirs for theirs, ours in zip(times["without"], times[name], strict=True))
    most = 1 + SHARES[name]
    part.rows += [
        Row(f"first words with {name}, p50", median(times[name]), "ms", "without", median(times["without"])),
        Row(f"{name}: against the same question without, p50", more, "times", bar=f"<= {most:g}", ok=more <= most),
    ]
    part.data[f"{name}_first_words_ms"] = times


async def _goodput(
    setup: Setup, part: Part, name: str, without: LocalServer, watched: LocalServer, stock: Stock
) -> None:
    setup.say(f"{name}: as many turns as there can be, in turn")
    seconds = setup.count(6, 2)
    rates: dict[str, list[float]] = {"without": [], name: []}
    async with client_of(without) as plain, client_of(watched) as seen:
        for number in range(setup.count(6, 1)):
            ways = [("without", plain), (name, seen)]
            for way, client in ways if number % 2 else reversed(ways):
                await stock.ahead(_CLIENTS * 8)
                rates[way].append(good(await closed_loop(client, stock, _CLIENTS, seconds), seconds))
    ours, theirs, least = median(rates[name]), median(rates["without"]), 1 - SHARES[name]
    kept = ours / theirs if theirs else 0.0
    named = f"turns a second with {name}, {_CLIENTS} clients ({spread(rates[name])})"
    peer = f"without ({spread(rates['without'])})"
    part.rows.append(Row(named, ours, "a second", peer, theirs, kept, f">= {least:g}x", kept >= least))
    part.data[f"{name}_turns_a_second"] = rates


async def _scrape(server: LocalServer) -> None:
    """Read the metrics over and over, if the server has any."""
    while server.operations:
        await asyncio.to_thread(lambda: urlopen(f"{server.operations}/metrics").read())
        await asyncio.sleep(_EVERY_S)


class _Thrown(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _collector() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Thrown) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
