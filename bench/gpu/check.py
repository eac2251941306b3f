"""Questions about a drawn world, asked of a server on the card and of one on the CPU; and what the card holds of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from statistics import median
from time import perf_counter

from bench.engine.server.serving import Stock
from bench.gpu.first import card
from bench.hostile.sections import Setup
from bench.network.serving import client_of, serving
from bench.results import Row, spread
from bench.sections import Part
from quizglass_client import AsyncClient, Done
from quizglass_client.local import LocalServer

_EVERY_S = 0.5
_MOST_MIB = 700
"""Of the card beyond the weights, all roles of the starter."""


def run(setup: Setup) -> Part:
    """Ask both the same, in turn."""
    return asyncio.run(_run(setup))


async def _run(setup: Setup) -> Part:
    part, before = Part(), _used()
    async with serving(setup, "card", ["--provider", "cuda"]) as (ours, stock), serving(setup, "cpu", []) as (peer, _):
        held = _used() - before
        watts: list[float] = []
        watching = asyncio.create_task(_watch(watts))
        await _ask(setup, part, stock, ours, peer)
        watching.cancel()
    weights = sum(file.stat().st_size for file in setup.bundle.rglob("*.onnx")) / 2**20
    beyond = held - weights
    if watts:
        part.rows.append(Row(f"power of the card over the turns ({spread(watts)})", median(watts), "W"))
    part.rows.append(
        Row("card memory beyond the weights", beyond, "MiB", bar=f"<= {_MOST_MIB}", ok=beyond <= _MOST_MIB)
    )
    return part


async def _ask(setup: Setup, part: Part, stock: Stock, ours: LocalServer, peer: LocalServer) -> None:
    equal, count = 0, setup.count(80, 4)
    times: dict[str, list[float]] = {"card": [], "cpu": []}
    async with client_of(ours) as on_card, client_of(peer) as on_cpu:
        for number in range(count):
            setup.say(f"question {number + 1} of {count}")
            question, pictures = stock.twins()
            answers = {}
            ways = [("card", on_card, pictures[0]), ("cpu", on_cpu, pictures[1])]
            for name, client, picture in ways if number % 2 else reversed(ways):
                began = perf_counter()
                answers[name] = await _answer(client, question, picture)
                times[name].append((perf_counter() - began) * 1e3)
            equal += answers["card"] == answers["cpu"]
    on, off = times["card"], times["cpu"]
    part.rows += [
        Row("answers equal to the CPU's", equal, f"of {count}", bar=f">= {count}", ok=equal == count),
        Row(
            f"turn, p50 ({spread(on)})", median(on), "ms", f"CPU ({spread(off)})", median(off), median(on) / median(off)
        ),
    ]
    part.data["turn_ms"] = times


async def _answer(client: AsyncClient, question: object, picture: bytes) -> str:
    async for event in client.ask(question.text, picture, history=question.history, budget=60):  # type: ignore[attr-defined]
        if isinstance(event.payload, Done):
            return f"{event.payload.finish_reason} {event.payload.answer}"
    return ""


async def _watch(watts: list[float]) -> None:
    """Read the card's power twice a second, until cancelled."""
    while (found := await asyncio.to_thread(card)) is not None:
        with suppress(ValueError):  # some cards do not say
            watts.append(float(found["power.draw"]))
        await asyncio.sleep(_EVERY_S)


def _used() -> float:
    """MiB of the card in use, by whomever."""
    found = card()
    return float(found["memory.used"]) if found else 0.0
