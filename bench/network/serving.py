"""Servers that know a world, in clear or protected, and what clients need to reach them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from time import perf_counter

from rich.progress import Progress

from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.hostile.stage import QUESTIONS, SEED, THINGS
from bench.processes import running_server
from bench.worlds import load, prepare
from quizglass_client import AnswerDelta, AsyncClient
from quizglass_client.local import LocalServer


@dataclass(frozen=True)
class Access:
    """How a server is protected: the files of an authority and of tokens, and a token for everything."""

    folder: Path
    tokens: Path
    token: str

    @property
    def authority(self) -> Path:
        """Of the certificate."""
        return self.folder / "authority.pem"

    @property
    def flags(self) -> list[str]:
        """Of the server."""
        files = {"--tls-cert": "server.pem", "--tls-key": "server.key"}
        given = [each for flag, name in files.items() for each in (flag, str(self.folder / name))]
        return [*given, "--tokens", str(self.tokens)]

    def add(self, name: str, may: str, *more: str) -> str:
        """A new token, made as an operator makes one."""
        return _command("token", "add", name, "--may", may, "--tokens", str(self.tokens), *more)

    def renew(self) -> None:
        """Have the same authority issue another certificate."""
        _command("tls", "init", str(self.folder))

    def revoke(self, name: str) -> None:
        """Make it invalid."""
        _command("token", "revoke", name, "--tokens", str(self.tokens))


def protected(setup: Setup) -> Access:
    """A certificate of this machine's own and a token, made by the server's commands."""
    folder = setup.folder / "network-access"
    rmtree(folder, ignore_errors=True)
    _command("tls", "init", str(folder))
    tokens = folder / "tokens.json"
    text = _command("token", "add", "all", "--may", "ask,read,write,memory,operate", "--tokens", str(tokens))
    return Access(folder, tokens, text)


def _command(*arguments: str) -> str:
    """The last line that a command of the server prints."""
    command = [sys.executable, "-m", "quizglass_server", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1].strip()


@asynccontextmanager
async def serving(
    setup: Setup, name: str, flags: Sequence[str], access: Access | None = None
) -> AsyncIterator[tuple[LocalServer, Stock]]:
    """A server that knows a world in a directory of its own, warm, stopped by its own process id afterwards.

    Args:
        setup: of the section.
        name: of the directory: two servers at once need two.
        flags: of the server.
        access: how it is protected; None: it is not.
    """
    folder = setup.folder / f"network-{name}-{SEED}-{THINGS}"
    setup.say(f"drawing a world and starting the server {name}")
    trial = await asyncio.to_thread(prepare, SEED, THINGS, QUESTIONS, folder)
    with Progress(disable=True) as bars:  # loaded in clear: the benchmark's loader knows no certificates
        async with running_server(LocalServer(setup.bundle, folder / "knowledge")) as loading:
            await asyncio.to_thread(load, loading.target, folder, bars)
    given = [*flags, *(access.flags if access else ())]
    local = LocalServer(setup.bundle, folder / "knowledge", flags=given, log=folder / "server.log")
    async with running_server(local) as server:
        stock = Stock(trial.questions)
        async with client_of(server, access) as client:
            for _ in range(setup.count(12, 2)):
                await first_words(client, *next(stock))
        yield server, stock


def client_of(server: LocalServer, access: Access | None = None, token: str = "") -> AsyncClient:
    """A client of the published SDK, with a token for everything unless another is given."""
    if access is None:
        return AsyncClient(server.target, timeout=60)
    port = server.target.rpartition(":")[2]
    return AsyncClient(f"localhost:{port}", timeout=60, ca=access.authority, token=token or access.token)


async def first_words(client: AsyncClient, question: object, frame: bytes) -> float:
    """Seconds from the question to the first piece of its answer; the answer is read to its end."""
    began = perf_counter()
    first = None
    async for event in client.ask(question.text, frame, history=question.history, budget=60):  # type: ignore[attr-defined]
        if first is None and isinstance(event.payload, AnswerDelta):
            first = perf_counter() - began
    return perf_counter() - began if first is None else first
