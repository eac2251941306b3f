"""Links that break or are slow: what is lost or repeated, how soon a session goes on, and what it costs in bytes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from time import perf_counter

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.results import at_least, at_most
from bench.sections import Part
from bench.session.cutting_proxy import Cut, CuttingProxy, cutting_proxy
from bench.session.stage import Served, links_of
from bench.session.told import Told, TurnLog, told_of
from quizglass.session import Interrupted
from quizglass_client import AsyncSession

_UPLOAD_BYTES, _RATE = 8 << 20, 125_000
"""8 MiB at 1 Mbit/s."""
_SHARES = {Cut.FIN: 0.25, Cut.RST: 0.42, Cut.STREAM_RESET: 0.25, Cut.BLACK_HOLE: 0.08}
"""Of the cuts that are drawn."""
_OPENED_BYTES = 2_000
"""More than a link is opened with: one that goes dark before that fails to open, which is no cut in an answer."""
_HINTED = 0.9
"""Share of the black holes that a session gets a hint of; each of the others takes it seconds to find."""


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
    draw, wanted = random.Random(20), setup.count(1000, 8)
    log, results = TurnLog(stage.log), list[Told]()
    async with through_proxy(stage) as (proxy, session), hinting(proxy, session):
        while session.links <= wanted:
            proxy.cut_after(*_order(draw))
            question, picture = next(stage.stock)
            turn = await session.ask(question.text, picture)
            if draw.random() < 0.3:
                await asyncio.sleep(draw.uniform(0.0, 0.05))
                proxy.cut(draw.choice([Cut.FIN, Cut.RST, Cut.STREAM_RESET]))
            results.append(await told_of(turn))
            setup.say(f"{session.links - 1} cuts, {len(results)} turns")
        links, kinds = session.links - 1, dict(proxy.cuts)
    inferred = await log.inferred({each.turn_id for each in results if each.turn_id})
    turns = len(results)
    rows = [
        at_least(
            f"turns complete through {links} links that were cut ({_named(kinds)}), share", _share(results), "", 1.0
        ),
        at_most("turns with events missing or twice", sum(not each.whole for each in results), f"of {turns}", 0),
        at_most("answers inferred twice, by the server's log", inferred.total() - turns, f"of {turns}", 0),
        at_most("turns with confirmed words that changed", sum(not each.same for each in results), f"of {turns}", 0),
    ]
    return Part(rows, {"cuts": kinds, "turns": turns, "inferred": inferred.total()})


def _order(draw: random.Random) -> tuple[int, Cut]:
    """After how many bytes the next connection is cut, and how."""
    how = draw.choices(list(_SHARES), list(_SHARES.values()))[0]
    least = _OPENED_BYTES if how is Cut.BLACK_HOLE else 300
    return draw.randrange(least, 60_000), how


def _named(kinds: Mapping[Cut, int]) -> str:
    return ", ".join(f"{count} {how}" for how, count in sorted(kinds.items()))


def _share(results: Sequence[Told]) -> float:
    return sum(each.whole for each in results) / len(results)


@asynccontextmanager
async def hinting(proxy: CuttingProxy, session: AsyncSession) -> AsyncIterator[None]:
    """Tell the session of most black holes, as a phone tells of a changed network; it finds the others itself."""
    draw = random.Random(21)

    async def hint() -> None:
        while True:
            await proxy.went_dark.wait()
            proxy.went_dark.clear()
            if draw.random() < _HINTED:
                session.hint_reconnect()

    hints = asyncio.create_task(hint())
    try:
        yield
    finally:
        hints.cancel()


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
            # Bytes that need not be a picture: they never arrive as a whole, and the client leaves those to the server.
            await session.show(random.Random(at).randbytes(_UPLOAD_BYTES))
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
