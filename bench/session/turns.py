"""Times of turns: first words with the frame ahead of the question, and what interrupting and cancelling take."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from statistics import median
from time import perf_counter

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.processes import children, threads
from bench.results import Row, against, at_most
from bench.sections import Part
from bench.session.stage import Served, first_of, first_of_ask
from quizglass.session import Interrupted, TurnUpdate
from quizglass.values import AnswerDelta
from quizglass_client import AsyncClient, AsyncSession

AHEAD_S = 0.3
BARS = {"none": 0.3, "image": 0.3, "text": 0.5, "both": 0.5}
"""Policies, and how long first words may take at most, of what both at once take by `Ask`."""
_SETTLED_S, _SAMPLE_S = 0.5, 0.002


async def first_words(setup: Setup, stage: Served) -> Part:
    """Question to first words with the frame 300 ms ahead of it, against both at once by `Ask`."""
    rows, data = [], {}
    async with AsyncClient(stage.target) as client:
        await client.capabilities()
        for policy, bar in BARS.items():
            ours, theirs = [], []
            for at in range(setup.count(40, 2)):
                question, (one, other) = stage.stock.twins()
                if at % 2:  # what one has searched for is found sooner by the other
                    theirs.append(await first_of_ask(client, question.text, other, policy))
                ours.append(await _first_ahead(stage, question.text, one, policy))
                if not at % 2:
                    theirs.append(await first_of_ask(client, question.text, other, policy))
            rows.append(against(f"first words, {policy}, frame 300 ms ahead", ours, "s", "Ask", theirs, bar))
            data[policy] = {"session_s": ours, "ask_s": theirs}
    return Part(rows, data)


async def _first_ahead(stage: Served, question: str, picture: bytes, policy: str) -> float:
    """Seconds to first words in a session of its own, whose dialogue would make later prompts longer."""
    async with AsyncSession(stage.target) as session:
        frame = await session.show(picture)
        await asyncio.sleep(AHEAD_S)
        began = perf_counter()
        return await first_of(await session.ask(question, frame=frame, policy=policy), began)


async def calls(setup: Setup, stage: Served) -> Part:
    """The same question by `Converse` and by `Ask`, and one that interrupts against one that does not."""
    ours, theirs, idle, interrupting = [], [], [], []
    async with AsyncClient(stage.target) as client, AsyncSession(stage.target) as session:
        for at in range(setup.count(100, 4)):
            question = f"Who founded Velmora number {at}?"
            if at % 2:  # what one has said is warm for the other
                theirs.append(await first_of_ask(client, question, None, "none"))
            async with AsyncSession(stage.target) as fresh:
                began = perf_counter()
                ours.append(await first_of(await fresh.ask(question, policy="none"), began))
            if not at % 2:
                theirs.append(await first_of_ask(client, question, None, "none"))
        for at in range(setup.count(50, 3)):
            began = perf_counter()
            idle.append(await first_of(await session.ask(f"Who drew plan {at}?", policy="none"), began))
            running = await session.ask(f"Describe all of town {at} in many words.", policy="none")
            async for said in running:
                if isinstance(said, TurnUpdate) and isinstance(said.event, AnswerDelta):
                    break
            began = perf_counter()
            interrupting.append(await first_of(await session.ask(f"Who drew map {at}?", policy="none"), began))
    more = (median(ours) - median(theirs)) * 1e3
    rows = [
        at_most("Converse against Ask, the same question, first words p50: more by", more, "ms", 1.0),
        against("first words of a question that interrupts", interrupting, "s", "when idle", idle, 1.1),
    ]
    return Part(rows, {"converse_s": ours, "ask_s": theirs})


async def cancel(setup: Setup, stage: Served) -> Part:
    """From a cancel to its word, and to the last work of the threads that compute."""
    told, worked = [], []
    pids = children(stage.server.pid)
    async with AsyncSession(stage.target) as session:
        for at in range(setup.count(100, 3)):
            turn = await session.ask(f"Describe all of island {at} in many words.", policy="none")
            async for said in turn:
                if isinstance(said, TurnUpdate) and isinstance(said.event, AnswerDelta):
                    break
            began = perf_counter()
            await turn.cancel()
            watching = asyncio.create_task(_last_work(pids, began))
            told += [(perf_counter() - began) * 1e3 async for said in turn if isinstance(said, Interrupted)]
            worked.append(await watching * 1e3)
    rows = [
        Row("cancel to `interrupted`, p99", percentile(told, 0.99), "ms"),
        at_most("cancel to idle engine, p99", percentile(worked, 0.99), "ms", 100),
    ]
    return Part(rows, {"interrupted_ms": told, "idle_ms": worked})


async def _last_work(pids: list[int], began: float) -> float:
    """Seconds after `began` at which threads of these processes last computed, as far as that is seen."""
    last, before = 0.0, _computed(pids)
    while (now := perf_counter() - began) < _SETTLED_S:
        await asyncio.sleep(_SAMPLE_S)
        if (computed := _computed(pids)) != before:
            before, last = computed, now
    return last


def _computed(pids: list[int]) -> int:
    """Nanoseconds that all threads of these processes have had a core, but for their first ones.

    Those have the event loops, whose signs of life (two a second) would count as work.
    """
    computed = 0
    for each in (each for pid in pids for each in threads(pid) if each.name != str(pid)):
        with suppress(OSError):
            computed += int((each / "schedstat").read_text().split()[0])
    return computed
