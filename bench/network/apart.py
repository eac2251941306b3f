"""Whether one tenant can tell by the time of an answer what another has just asked: cached against uncached."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from scipy.stats import rankdata

from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.network.serving import client_of, protected, serving
from bench.results import Row
from bench.sections import Part
from quizglass_client import AsyncClient

BAR = 0.55
_SEED = 7
_TENANTS = ("anna", "bert")
_CONTROL = 200
"""Draws by the same tenant, which differ clearly."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to ask."""

    ask: Callable[[AsyncClient, str, bytes], Awaitable[object]]
    pictures: bool = True
    """Whether it takes a picture, which each time is another: making them takes longer than a search."""


async def run(setup: Setup) -> Part:
    """Before each draw Anna asks the same, or something else, as a coin says; then Bert's answer is timed.

    Beside it the same with two clients of one tenant, where the first one's answer is kept for the second: it shows
    that the difference would be seen. What is searched is shared, so that both find the same.
    """
    access, part = protected(setup), Part()
    tokens = {name: access.add(name, "ask,read", "--tenant", name) for name in _TENANTS}
    flags = ["--tenants", str(setup.folder / "network-tenants"), "--share-knowledge"]
    async with serving(setup, "apart", flags, access) as (server, stock):
        anna, bert, again = (client_of(server, access, tokens[name]) for name in ("anna", "bert", "anna"))
        async with anna, bert, again:
            for name, way, most in _ways(setup):
                for asker, other in ((bert, "another tenant"), (again, "the same tenant")):
                    draws = most if asker is bert else min(most, _CONTROL)
                    setup.say(f"{name}: {draws} draws by {other}")
                    known, unknown = await _draws(way, anna, asker, stock, draws)
                    part.data[f"{name} by {other}, ms"] = {"asked": known, "not asked": unknown}
                    told = area(unknown, known)
                    bar, ok = (f"<= {BAR}", told <= BAR) if asker is bert else ("", None)
                    part.rows.append(Row(f"{name}: AUC by {other}", told, "", "draws", draws, None, bar, ok))
    return part


def _ways(setup: Setup) -> Sequence[tuple[str, _Way, int]]:
    """What is asked, and how often."""
    draws = setup.count(2000, 12)
    return (
        ("search by text", _Way(lambda client, text, _: client.search(text), pictures=False), draws),
        ("search by picture", _Way(lambda client, _, picture: client.search(picture=picture)), draws),
        (
            "question in words",
            _Way(lambda client, text, _: client.answer(text, policy="text", budget=60), pictures=False),
            draws,
        ),
        ("question about a picture", _Way(lambda client, text, seen: client.answer(text, seen, budget=60)), draws),
    )


async def _draws(
    way: _Way, first: AsyncClient, second: AsyncClient, stock: Stock, draws: int
) -> tuple[list[float], list[float]]:
    """Milliseconds of the second client's answers: to what the first one had asked, and to what it had not."""
    coin = random.Random(_SEED)
    times: tuple[list[float], list[float]] = ([], [])
    words = [next(stock) for _ in range(2)]
    for number in range(draws):
        (question, picture), (other, its) = [next(stock), next(stock)] if way.pictures else words
        same = coin.random() < 0.5
        # No text comes twice, or all would be known after the first round.
        text, another = (f"{each.text} ({number}, {place})" for place, each in enumerate((question, other)))
        await way.ask(first, *((text, picture) if same else (another, its)))
        began = perf_counter()
        await way.ask(second, text, picture)
        times[not same].append((perf_counter() - began) * 1e3)
    return times


def area(slow: Sequence[float], quick: Sequence[float]) -> float:
    """Probability that the larger of two times, one of each kind, is a slow one's, or its complement: 0.5 to 1."""
    ranks = rankdata(np.concatenate([slow, quick]))
    above = (ranks[: len(slow)].sum() - len(slow) * (len(slow) + 1) / 2) / (len(slow) * len(quick))
    return float(max(above, 1 - above))
