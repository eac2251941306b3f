"""Links that break or are slow: what is lost or repeated, how soon a session goes on, and what it costs in bytes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.results import at_least, at_most
from bench.sections import Part
from bench.session.cutting_proxy import Cut, CuttingProxy, cutting_proxy
from bench.session.stage import Served, links_of
from quizglass.session import Interrupted, SegmentState, TurnUpdate
from quizglass.values import Done
from quizglass_client import AsyncSession, AsyncTurn

_UPLOAD_BYTES, _RATE = 8 << 20, 125_000
"""8 MiB at 1 Mbit/s."""


@asynccontextmanager
async def through_proxy(stage: Served, rate: float = 0.0) -> AsyncIterator[tuple[CuttingProxy, AsyncSession]]:
    """A proxy before the server, and a session over it."""
    async with cutting_proxy(stage.port, rate) as proxy, AsyncSession(proxy.target) as session:
        yield proxy, session


async def second_question(setup: Setup, stage: Served) -> Part:
    """Bytes that go up for a second question about a frame, HTTP/2 included."""
    beyond = []
    async with through_proxy(stage) as (proxy, session):
        for _ in range(setup.count(20, 2)):
            question, picture = next(stage.stock)
            frame = await session.show(picture)
            await session.answer(question.text, frame=frame)
            before = proxy.up
            second = f"{question.text} Say it again."
            await session.answer(second, frame=frame)
            beyond.append(float(proxy.up - before - len(second.encode())))
    return Part([at_most("bytes up for a second question, beyond its text, most", max(beyond), "bytes", 300)])


async def cuts(setup: Setup, stage: Served) -> Part:
    """Cuts in the middle of answers and uploads, drawn by seed."""
    draw, wanted = random.Random(20), setup.count(1000, 6)
    complete = wrong = changed = 0
    async with through_proxy(stage) as (proxy, session):
        turns = 0
        while session.links <= wanted:
            turns += 1
            proxy.cut_after(draw.randrange(300, 60_000), draw.choice([Cut.FIN, Cut.RST, Cut.RST]))
            if draw.random() < 0.3:
                proxy.cut(draw.choice([Cut.FIN, Cut.RST]))
            elif draw.random() < 0.02:
                proxy.cut(Cut.BLACK_HOLE)
                session.hint_reconnect()
            question, picture = next(stage.stock)
            sound, same = await _sound(await session.ask(question.text, picture))
            complete, wrong, changed = complete + sound, wrong + (not sound), changed + (not same)
            setup.say(f"{session.links - 1} cuts, {turns} turns")
        links = session.links - 1
    rows = [
        at_least(f"turns complete through {links} cuts, share", complete / turns, "", 1.0),
        at_most("turns with events missing or twice", wrong, f"of {turns}", 0),
        at_most("turns with confirmed words that changed", changed, f"of {turns}", 0),
    ]
    return Part(rows)


async def _sound(turn: AsyncTurn) -> tuple[bool, bool]:
    """Whether its events came in order, each once, to its end; and whether what was confirmed is its answer."""
    numbers, segments, answer = [], dict[int, str](), None
    async for said in turn:
        if isinstance(said, TurnUpdate):
            numbers.append(said.seq)
            for segment in said.segments:
                text = segment.text or segments.get(segment.index, "")
                if segment.state is SegmentState.RETRACTED:
                    text = ""
                segments[segment.index] = text
            if isinstance(said.event, Done):
                answer = said.event.answer
    whole = answer is not None and numbers == list(range(1, len(numbers) + 1))
    return whole, "".join(segments[at] for at in sorted(segments)).strip() == answer


async def resume(setup: Setup, stage: Served) -> Part:
    """From a reset to the resumed session, and until a half-open link is noticed without a hint."""
    resets, busy, idle = [], [], []
    async with through_proxy(stage) as (proxy, session):
        for _ in range(setup.count(100, 3)):
            links, began = session.links, perf_counter()
            proxy.cut(Cut.RST)
            await links_of(session, links + 1)
            resets.append((perf_counter() - began) * 1e3)
        for _ in range(setup.count(5, 1)):
            links, began = session.links, perf_counter()
            turn = await session.ask("Describe everything there is in many words.", policy="none")
            proxy.cut(Cut.BLACK_HOLE)
            await links_of(session, links + 1)
            busy.append(perf_counter() - began)
            await turn.cancel()
            async for said in turn:
                if isinstance(said, Interrupted):
                    break
            links, began = session.links, perf_counter()
            proxy.cut(Cut.BLACK_HOLE)
            await links_of(session, links + 1)
            idle.append(perf_counter() - began)
    rows = [
        at_most("resumed after a reset, p50", percentile(resets, 0.5), "ms", 150),
        at_most("half-open link noticed and resumed, while a turn runs, longest", max(busy), "s", 6),
        at_most("half-open link noticed and resumed, idle, longest", max(idle), "s", 15),
    ]
    return Part(rows, {"resets_ms": resets, "busy_s": busy, "idle_s": idle})


async def cancel_in_upload(setup: Setup, stage: Served) -> Part:
    """A cancel while 8 MiB go up at 1 Mbit/s, of a question that waits for a frame."""
    took = []
    for at in range(setup.count(10, 1)):
        async with through_proxy(stage, _RATE) as (proxy, session):
            # Bytes that need not be a picture: they never arrive as a whole.
            session._core._outgoing.show(random.Random(at).randbytes(_UPLOAD_BYTES))
            while proxy.up < setup.count(400_000, 60_000):  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(0.01)
            turn = await session.ask("What is this?", frame=random.Random(at).randbytes(32))
            await anext(turn)
            began = perf_counter()
            await turn.cancel()
            ends = [perf_counter() async for said in turn if isinstance(said, Interrupted)]
            took.append((ends[-1] - began) * 1e3)
    rows = [at_most("cancel during an upload of 8 MiB at 1 Mbit/s, longest", max(took), "ms", 250)]
    return Part(rows, {"took_ms": took})
