"""A server that knows a world, warm, and pictures that no cache has seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.progress import Progress

from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.processes import running_server
from bench.worlds import load, prepare
from quizglass.session import TurnUpdate
from quizglass.values import AnswerDelta
from quizglass_client import AsyncClient, AsyncSession, AsyncTurn
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.questions import Question

SEED, THINGS, QUESTIONS = 101, 500, 100
_WARM = 6


@dataclass(frozen=True)
class SessionSetup(Setup):
    """What every section of sessions works with."""

    photographs: Path | None = None
    """Folder with those of scikit-image and scikit-learn."""


@dataclass(frozen=True)
class Served:
    """A server that serves."""

    server: LocalServer
    stock: Stock
    log: Path
    """Of the server, JSON lines."""

    @property
    def target(self) -> str:
        """Where it is."""
        return self.server.target

    @property
    def port(self) -> int:
        """Its port on this machine."""
        return int(self.target.rpartition(":")[2])


def questions_of(setup: Setup, count: int) -> Sequence[Question]:
    """So many questions about the world that every server knows."""
    return prepare(SEED, THINGS, count, _folder(setup)).questions


def _folder(setup: Setup) -> Path:
    return setup.folder / f"world-{SEED}-{THINGS}"


@asynccontextmanager
async def served(setup: Setup, flags: Sequence[str] = ()) -> AsyncIterator[Served]:
    """A server on a world of its own, with these further flags, stopped by its own process id afterwards."""
    folder = _folder(setup)
    setup.say("drawing a world and starting a server")
    questions = await asyncio.to_thread(questions_of, setup, QUESTIONS)
    log = folder / "server.log"
    local = LocalServer(setup.bundle, folder / "knowledge", flags=flags, log=log)
    async with running_server(local) as server:
        with Progress(disable=True) as bars:
            await asyncio.to_thread(load, server.target, folder, bars)
        stage = Served(server, Stock(questions), log)
        await stage.stock.ahead(setup.count(64, 8))
        async with AsyncClient(server.target) as client:
            for _ in range(setup.count(_WARM, 1)):
                question, picture = next(stage.stock)
                await client.answer(question.text, picture)
        yield stage


async def first_of(turn: AsyncTurn, began: float) -> float:
    """Seconds from `began` to the first words of a turn; the rest of it is waited for."""
    first = 0.0
    async for said in turn:
        if not first and isinstance(said, TurnUpdate) and isinstance(said.event, AnswerDelta):
            first = perf_counter() - began
    return first or perf_counter() - began


async def first_of_ask(client: AsyncClient, question: str, picture: bytes | None, policy: str) -> float:
    """The same of a question by `Ask`."""
    began, first = perf_counter(), 0.0
    async for event in client.ask(question, picture, policy=policy):
        if not first and isinstance(event.payload, AnswerDelta):
            first = perf_counter() - began
    return first or perf_counter() - began


async def links_of(session: AsyncSession, count: int) -> None:
    """Wait until a session has had so many links."""
    with suppress(TimeoutError):
        async with asyncio.timeout(60):
            while session.links < count:  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(0.0005)
