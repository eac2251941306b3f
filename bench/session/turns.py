"""Times of turns: first words with the frame ahead of the question, and what interrupting and cancelling take.

What a cancel or a new question leaves to be done in decode steps is counted where the engine's own count can be read,
by the section `stopping` of `bench.engine`: the server tells of none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from statistics import median
from time import perf_counter

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.processes import children, threads
from bench.results import Row, against, at_most
from bench.sections import Part
from bench.session.stage import Served, first_of, first_of_ask
from bench.worlds import in_own_order
from quizglass.session import Interrupted, TurnUpdate
from quizglass.values import AnswerDelta
from quizglass_client import AsyncClient, AsyncSession, AsyncTurn

AHEAD_S = 0.3
BARS = {"none": 0.3, "image": 0.3, "text": 0.5, "both": 0.5}
"""Policies, and how long first words may take at most, of what both at once take by `Ask`."""
UNPICTURED = ("none", "text")
"""Policies that can be asked without a picture."""
GO_ON = "Go on."
"""Answered with the rest of an interrupted answer, without the engine: what that still computes is for the old one."""
_SETTLED_S, _SAMPLE_S = 0.5, 0.002

Stop = Callable[[AsyncTurn, AsyncSession], Awaitable[AsyncTurn | None]]
"""Ends a turn of a session; the one that was begun instead, if that is how."""


async def first_words(setup: Setup, stage: Served) -> Part:
    """Question to first words with the frame 300 ms ahead of it, against both at once by `Ask`."""
    rows, data = [], {}
    async with AsyncClient(stage.target) as client:
        await client.capabilities()
        for policy, bar in BARS.items():
            ours, theirs = list[float](), list[float]()
            for _ in range(setup.count(40, 2)):
                question, (one, other) = stage.stock.twins()
                # What one has searched for is found sooner by the other.
                for took in in_own_order(f"{policy} {question.id}", (ours, theirs)):
                    if took is ours:
                        ours.append(await _first_ahead(stage, question.text, one, policy))
                    else:
                        theirs.append(await first_of_ask(client, question.text, other, policy))
            rows.append(against(f"first words, {policy}, frame 300 ms ahead", ours, "s", "Ask", theirs, bar))
            data[policy] = {"session_s": ours, "ask_s": theirs}
    for policy in UNPICTURED:
        paused, at_once = await _without_picture(setup, stage, policy)
        name = f"first words, {policy}, no picture, 300 ms after the session was opened"
        rows.append(against(name, paused, "s", "at once", at_once))
        data[f"{policy}, no picture"] = {"paused_s": paused, "at_once_s": at_once}
    return Part(rows, data)


async def _without_picture(setup: Setup, stage: Served, policy: str) -> tuple[list[float], list[float]]:
    """Seconds to first words after the same pause, in which nothing is done, and without one: what the pause costs."""
    paused, at_once = list[float](), list[float]()
    for at in range(setup.count(40, 2)):
        question, _ = next(stage.stock)
        for took, pause in ((paused, AHEAD_S), (at_once, 0.0)) if at % 2 else ((at_once, 0.0), (paused, AHEAD_S)):
            async with AsyncSession(stage.target) as session:
                await asyncio.sleep(pause)
                began = perf_counter()
                took.append(await first_of(await session.ask(question.text, policy=policy), began))
    return paused, at_once


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
        for at in range(setup.count(200, 3)):
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
    return Part(rows, {"converse_s": ours, "ask_s": theirs, "idle_s": idle, "interrupting_s": interrupting})


async def cancel(setup: Setup, stage: Served) -> Part:
    """From a cancel, or a new question, to its word, and to the last work of the threads that compute."""
    rows, data = [], {}
    for name, stop in (("cancel", _cancelled), ("new question", _asked_anew)):
        told, worked = await _stopped(setup, stage, stop)
        rows += [
            Row(f"{name} to `interrupted`, p99 of {len(told)}", percentile(told, 0.99), "ms"),
            at_most(f"{name} to idle engine, p99", percentile(worked, 0.99), "ms", 100),
        ]
        data[name] = {"interrupted_ms": told, "idle_ms": worked}
    return Part(rows, data)


async def _cancelled(turn: AsyncTurn, _: AsyncSession) -> None:
    await turn.cancel()


async def _asked_anew(_: AsyncTurn, session: AsyncSession) -> AsyncTurn:
    return await session.ask(GO_ON, policy="none")


async def _stopped(setup: Setup, stage: Served, stop: Stop) -> tuple[list[float], list[float]]:
    """Milliseconds to `interrupted` and to the last work, of turns that are stopped at their first words.

    One that was over before it was stopped counts for neither.
    """
    told, worked = [], []
    pids = children(stage.server.pid)
    async with AsyncSession(stage.target) as session:
        for at in range(setup.count(100, 3)):
            turn = await session.ask(f"Describe all of island {at} in many words.", policy="none")
            async for said in turn:
                if isinstance(said, TurnUpdate) and isinstance(said.event, AnswerDelta):
                    break
            began = perf_counter()
            after = await stop(turn, session)
            watching = asyncio.create_task(_last_work(pids, began))
            heard = [(perf_counter() - began) * 1e3 async for said in turn if isinstance(said, Interrupted)]
            answer = await after.answer() if after is not None else None
            last_ms = await watching * 1e3
            if heard and not (answer and answer.done.prompt_tokens):
                told += heard
                worked.append(last_ms)
    return told, worked


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
