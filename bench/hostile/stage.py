"""A real server under attack: what it takes beyond idle, and what the ordinary turns beside the attack take.

    async with victim(setup) as served:
        found = await served.under("24 pictures of 40 megapixels", attack)
        rows = found.rows()

`attack` is given the server and calls it as long as it is not cancelled; it returns, or keeps in what it was made
from, whatever else it wants to report. Ordinary turns are asked by clients of the published SDK, with pictures that no
cache has seen, first alone and then beside every attack.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from rich.progress import Progress

from bench.engine.figures import percentile
from bench.engine.server.serving import Outcome, Stock, closed_loop, kinds
from bench.hostile.sections import Setup
from bench.processes import children, running_server
from bench.results import Row, at_most
from bench.worlds import load, prepare
from quizglass_client import AsyncClient
from quizglass_client.local import LocalServer

SEED, THINGS, QUESTIONS = 101, 500, 100
CLIENTS = 2
"""Ordinary clients, each of which asks again as soon as it has its answer."""
PEAK_MIB, TIMES_ALONE, LONGEST_S = 1024, 5.0, 2.0
"""The bars: memory beyond idle, p99 of ordinary turns against alone, and the longest of them."""
_NOT_ANSWERED_S = 60.0
_SAMPLE_S = 0.01
_SETTLE_S = 2.0

Attack = Callable[["Victim"], Awaitable[None]]


@dataclass
class Under:
    """What one attack did."""

    name: str
    peak_mib: float
    """Memory of the server and its children at most, beyond idle."""
    kept_mib: float
    """The same a moment after the attack."""
    alone: Sequence[Outcome]
    beside: Sequence[Outcome]
    data: dict[str, object] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        """Peak, p99 beside the attack, and the longest turn, each with its bar."""
        answered = [turn for turn in self.beside if turn.kind == "answered"]
        alone, beside = _took(self.alone), _took(answered)
        # A refusal is quick and no answer: it counts as an abandoned turn.
        waited = beside + [_NOT_ANSWERED_S] * (len(self.beside) - len(answered))
        p99_alone, p99 = percentile(alone, 0.99), percentile(waited, 0.99)
        times = p99 / p99_alone
        bar = f"<= {TIMES_ALONE:g}x alone"
        unanswered = len(self.beside) - len(answered)
        return [
            at_most(f"{self.name}: peak beyond idle", self.peak_mib, "MiB", PEAK_MIB),
            Row(f"{self.name}: kept afterwards", self.kept_mib, "MiB"),
            Row(f"{self.name}: turns beside, p99", p99, "s", "alone", p99_alone, times, bar, times <= TIMES_ALONE),
            at_most(f"{self.name}: turns beside, longest", max(beside, default=float("nan")), "s", LONGEST_S),
            Row(f"{self.name}: turns beside that were not answered", unanswered, f"of {len(self.beside)}"),
        ]

    def record(self) -> dict[str, object]:
        """Kept beside the rows."""
        return {"alone_s": _took(self.alone), "beside_s": _took(self.beside), "kinds": kinds(self.beside), **self.data}


class Victim:
    """A server that serves, and its ordinary clients."""

    def __init__(self, server: LocalServer, stock: Stock, seconds: float) -> None:
        self.server = server
        self.target = server.target
        self.pid = server.pid
        self.stock = stock
        self._seconds = seconds
        self._alone: list[Outcome] = []
        self.idle_mib = 0.0

    async def warm(self) -> None:
        """Ask alone: the first turns warm everything up, the others are what later ones are compared with."""
        await self.ordinary(min(self._seconds, 5.0))
        self._alone = await self.ordinary(self._seconds)
        await asyncio.sleep(_SETTLE_S)
        self.idle_mib = tree_mib(self.pid)

    async def ordinary(self, seconds: float) -> list[Outcome]:
        """Turns of ordinary clients for so long."""
        await self.stock.ahead(CLIENTS * 8)
        async with AsyncClient(self.target) as client:
            return await closed_loop(client, self.stock, CLIENTS, seconds)

    async def under(self, name: str, attack: Attack) -> Under:
        """Ordinary turns beside an attack, which is cancelled when they end."""
        watch = MemoryWatch(self.pid)
        attacking = asyncio.ensure_future(attack(self))
        try:
            beside = await self.ordinary(self._seconds)
            if attacking.done():
                attacking.result()  # an attack that failed has shown nothing
        finally:
            attacking.cancel()
            with suppress(asyncio.CancelledError):
                await attacking
            peak = watch.end()
        await asyncio.sleep(_SETTLE_S)
        kept = tree_mib(self.pid) - self.idle_mib
        return Under(name, peak - self.idle_mib, kept, self._alone, beside)


@asynccontextmanager
async def victim(setup: Setup, flags: Sequence[str] = ()) -> AsyncIterator[Victim]:
    """A server that knows a world, warm, stopped by its own process id afterwards."""
    folder = setup.folder / f"world-{SEED}-{THINGS}"
    setup.say("drawing a world and starting a server")
    trial = await asyncio.to_thread(prepare, SEED, THINGS, QUESTIONS, folder)
    local = LocalServer(setup.bundle, folder / "knowledge", flags=flags, log=folder / "server.log")
    async with running_server(local) as server:
        with Progress(disable=True) as bars:
            await asyncio.to_thread(load, server.target, folder, bars)
        served = Victim(server, Stock(trial.questions), setup.count(10, 2))
        setup.say("ordinary turns alone")
        await served.warm()
        yield served


class MemoryWatch:
    """Samples the memory of a process and its descendants on a thread of its own, from being made to `end`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def end(self) -> float:
        """The most there was, MiB."""
        self._ended.set()
        self._thread.join()
        return self._peak

    def _sample(self) -> None:
        ended = False
        while not ended:  # looked at once at least, however soon the end comes
            self._peak = max(self._peak, tree_mib(self._pid))
            ended = self._ended.wait(_SAMPLE_S)


def tree_mib(pid: int) -> float:
    """Resident memory of a process and all its descendants, MiB. What several of them share is counted for each."""
    pages = 0
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        with suppress(OSError):  # it may end while it is looked at
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        waiting += children(process)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def repeated(send: Callable[[], Awaitable[object]], at_once: int, pause_s: float = 0.0) -> None:
    """Send over and over, so many at once, until cancelled. What becomes of a request is its own affair."""

    async def one() -> None:
        while True:
            with suppress(Exception):
                await send()
            await asyncio.sleep(pause_s)

    await asyncio.gather(*(one() for _ in range(at_once)))


async def timed(send: Callable[[], Awaitable[object]]) -> tuple[str, float]:
    """What became of one request, as the name of its error or "answered", and after how many seconds."""
    began = perf_counter()
    try:
        await send()
    except Exception as error:
        return type(error).__name__, perf_counter() - began
    return "answered", perf_counter() - began


def _took(outcomes: Sequence[Outcome]) -> list[float]:
    return [turn.took for turn in outcomes]
