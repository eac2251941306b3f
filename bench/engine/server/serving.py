"""A whole server on the starter bundle with a world of knowledge, and clients of the published SDK that ask it."""

from __future__ import annotations

import asyncio
import io
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter

import numpy as np
from PIL import Image
from rich.progress import Progress

from bench.engine.contenders.setup import Setup
from bench.processes import running_server
from bench.worlds import Trial, load, picture, prepare
from quizglass_client import AsyncClient, ClientError, Overloaded
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.questions import Question

SEED, THINGS, QUESTIONS = 101, 500, 100
BUDGET_S = 5.0
"""How long a client waits: later answers are worth nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One turn."""

    kind: str
    """answered, refused, or the name of another error."""
    sent: float
    took: float
    """Seconds."""


class Stock:
    """Questions with pictures that no cache has seen: each time a picture is used it gets a mark of its own."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions
        self._scenes = [np.asarray(Image.open(io.BytesIO(picture(q))).convert("RGB")) for q in questions]
        self._used, self._marks = count(), count()
        self._ready: deque[tuple[int, bytes]] = deque()

    async def ahead(self, most: int) -> None:
        """Make so many before they are needed: the clients share the machine with the server they ask."""
        while len(self._ready) < most:
            self._ready.append(await asyncio.to_thread(self._make))

    def __iter__(self) -> Iterator[tuple[Question, bytes]]:
        return self

    def __next__(self) -> tuple[Question, bytes]:
        scene, encoded = self._take()
        return self._questions[scene], encoded

    def twins(self) -> tuple[Question, tuple[bytes, bytes]]:
        """The next question with two pictures of its scene, for what is compared: scenes differ in what they cost.

        Of two ways that take turns with `next`, one would see all the scenes with even numbers.
        """
        scene, encoded = self._take()
        return self._questions[scene], (encoded, self._marked(scene))

    def _take(self) -> tuple[int, bytes]:
        return self._ready.popleft() if self._ready else self._make()

    def _make(self) -> tuple[int, bytes]:
        scene = next(self._used) % len(self._scenes)
        return scene, self._marked(scene)

    def _marked(self, number: int) -> bytes:
        scene = self._scenes[number].copy()
        scene[:8, :8] = np.random.default_rng(next(self._marks)).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        out = io.BytesIO()
        Image.fromarray(scene).save(out, "JPEG", quality=90)
        return out.getvalue()


@asynccontextmanager
async def served(setup: Setup, flags: Sequence[str] = ()) -> AsyncIterator[tuple[LocalServer, Trial]]:
    """A server that knows a world, stopped by its own process id afterwards."""
    folder: Path = setup.folder / f"world-{SEED}-{THINGS}"
    setup.say("drawing a world and starting a server")
    trial = await asyncio.to_thread(prepare, SEED, THINGS, QUESTIONS, folder)
    local = LocalServer(setup.bundle, folder / "knowledge", flags=flags, log=folder / "server.log")
    async with running_server(local) as server:
        with Progress(disable=True) as bars:
            await asyncio.to_thread(load, server.target, folder, bars)
        yield server, trial


async def ask(client: AsyncClient, question: Question, frame: bytes, budget: float = BUDGET_S) -> Outcome:
    """One turn; failures are outcomes too."""
    sent = perf_counter()
    try:
        await client.answer(question.text, frame, history=question.history, budget=budget)
        kind = "answered"
    except Overloaded:
        kind = "refused"
    except ClientError as error:
        kind = type(error).__name__
    return Outcome(kind, sent, perf_counter() - sent)


async def closed_loop(client: AsyncClient, stock: Stock, clients: int, seconds: float) -> list[Outcome]:
    """So many clients, each of which asks again as soon as it has its answer."""
    until = perf_counter() + seconds
    found: list[Outcome] = []

    async def one() -> None:
        while perf_counter() < until:
            found.append(await ask(client, *next(stock)))

    await asyncio.gather(*(one() for _ in range(clients)))
    return found


async def open_loop(client: AsyncClient, stock: Stock, times: Sequence[float]) -> list[Outcome]:
    """Turns sent at given seconds from now, whatever became of those before."""
    await stock.ahead(len(times))
    frames = [next(stock) for _ in times]
    began = perf_counter()
    tasks = []
    for at, (question, frame) in zip(times, frames, strict=True):
        await asyncio.sleep(max(0.0, began + at - perf_counter()))
        tasks.append(asyncio.create_task(ask(client, question, frame)))
    return list(await asyncio.gather(*tasks))


def good(outcomes: Sequence[Outcome], seconds: float) -> float:
    """Turns a second that were answered in time, of those that ended within so many seconds of the first.

    Of turns that arrive faster than they are answered, many are under way at the end: what becomes of them is no work
    of these seconds.
    """
    until = min((each.sent for each in outcomes), default=0.0) + seconds
    in_time = (each for each in outcomes if each.kind == "answered" and each.took <= BUDGET_S)
    return sum(each.sent + each.took <= until for each in in_time) / seconds


def kinds(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many of each kind."""
    return {kind: sum(each.kind == kind for each in outcomes) for kind in sorted({each.kind for each in outcomes})}
