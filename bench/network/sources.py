"""Turns with a SearXNG beside the store, one that answers and one that hangs, beside turns without any source."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median
from time import perf_counter

from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.network.serving import client_of, serving
from bench.results import Row, at_most, measured
from bench.sections import Part
from quizglass_client import AsyncClient, Done

BUDGET_S = 0.5
"""Of the source in each turn."""
_SLACK_MS = 50.0
"""Milliseconds beyond the budget that giving a source up may take."""
_POLICY = "both"
"""Which searches by text in every turn."""
_STEP = "source.web"
ASKED, UNSEARCHED = "asked", "not searched"
"""Of turns that left it in, and of those that look nothing up by text, such as "What is this?"."""


async def run(setup: Setup) -> Part:
    """Both kinds, each beside a server without, asked the same in turn."""
    part = Part()
    for kind in ("answers", "hangs"):
        async with _searxng(kind) as port:
            file = setup.folder / f"sources-{kind}.toml"
            file.write_text(
                f'[web]\ntype = "searxng"\nurl = "http://127.0.0.1:{port}"\nbudget_s = {BUDGET_S}\ncache_s = 0\n'
            )
            flags = ["--sources", str(file)]
            async with (
                serving(setup, "alone", []) as (alone, _),
                serving(setup, "sources", flags) as (ours, stock),
                client_of(alone) as without,
                client_of(ours) as given,
            ):
                await _ask(setup, part, kind, stock, without, given)
    return part


async def _ask(setup: Setup, part: Part, kind: str, stock: Stock, without: AsyncClient, given: AsyncClient) -> None:
    """Turns one at a time; of a source that hangs they wait, or leave it alone after three failures."""
    added: dict[str, list[float]] = {}
    waited: list[float] = []
    count = setup.count(60, 6)
    for number in range(count):
        setup.say(f"a SearXNG that {kind}: question {number + 1} of {count}")
        question, pictures = stock.twins()
        took = {}
        ways = [("without", without, pictures[0]), ("given", given, pictures[1])]
        for name, client, picture in ways if number % 2 else reversed(ways):
            took[name] = await _turn(client, question.text, picture)
        (alone_ms, _), (given_ms, done) = took["without"], took["given"]
        reason, step_ms = left_out(done)
        added.setdefault(reason, []).append(given_ms - alone_ms)
        waited += [step_ms] if step_ms is not None and reason == "BUDGET" else []
    part.rows += rows(kind, added, waited)
    part.data[kind] = {"added_ms": added, "waited_ms": waited}


def rows(kind: str, added: dict[str, list[float]], waited: Sequence[float]) -> list[Row]:
    """What a source adds to a turn.

    Args:
        kind: what the source does.
        added: milliseconds beyond the same turn without a source, by why it was left out; or ASKED, or UNSEARCHED.
        waited: milliseconds for which turns waited until they gave it up.
    """
    name = f"a SearXNG that {kind}"
    every = [value for values in added.values() for value in values]
    table = [at_most(f"{name}: added to a turn, p50, {len(every)} turns", median(every), "ms", 1e3 * BUDGET_S)]
    if waited:
        most = 1e3 * BUDGET_S + _SLACK_MS
        table.append(
            at_most(f"{name}: waited for until it is given up, p50, {len(waited)} turns", median(waited), "ms", most)
        )
    if alone := added.get("FAILED", []):
        table.append(measured(f"{name}: added where it was left alone, {len(alone)} turns", alone, "ms"))
    if kind == "hangs":
        searched = len(every) - len(added.get(UNSEARCHED, []))
        told = 100 * (1 - len(added.get(ASKED, [])) / searched) if searched else 0.0
        text = f"{name}: turns that name the step left out, of {searched} that search by text"
        table.append(Row(text, told, "%", bar="100 %", ok=told == 100))
    return table


def left_out(done: Done) -> tuple[str, float | None]:
    """Why a turn left the source out, or ASKED or UNSEARCHED; and milliseconds that it was waited for, if it was.

    A turn that searched by text and says nothing of the source counts as one that asked it, and did not name it.
    """
    reason = next((step.reason for step in done.skipped if step.step == _STEP), "")
    waited = next((1e3 * each.duration for each in done.timings if each.stage == _STEP), None)
    searched = waited is not None or any(each.stage == "text_search" for each in done.timings)
    return reason or (ASKED if searched else UNSEARCHED), waited


async def _turn(client: AsyncClient, text: str, picture: bytes) -> tuple[float, Done]:
    """Milliseconds of a turn, and how it ended.

    Raises:
        ValueError: it did not end.
    """
    began = perf_counter()
    async for event in client.ask(text, picture, policy=_POLICY, budget=60):
        if isinstance(event.payload, Done):
            return (perf_counter() - began) * 1e3, event.payload
    raise ValueError("a turn has ended without a done event")


@asynccontextmanager
async def _searxng(kind: str) -> AsyncIterator[int]:
    """Listens on loopback, and answers as SearXNG does or not at all; its port."""
    result = {"url": "https://host.example/a", "title": "Weather", "content": "It rains in Brenn.", "engine": "a"}
    body = json.dumps({"query": "q", "results": [result], "answers": [], "infoboxes": [], "suggestions": []}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                if kind == "answers":
                    writer.write(head + body)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
