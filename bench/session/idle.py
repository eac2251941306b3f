"""Sessions that do nothing, and links that are asked whether they live while everything is busy."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from time import perf_counter
from typing import Any

import grpc

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.hostile.stage import repeated, tree_mib
from bench.results import Row, at_most
from bench.sections import Part
from bench.session.stage import Served
from quizglass.v1 import session_pb2, session_pb2_grpc
from quizglass_client import AsyncClient

_HOLDER = b"bench of idle sessions"
_SETTLE_S = 3.0


async def pong(setup: Setup, stage: Served) -> Part:
    """`ping` to `pong` while turns keep every engine busy and pictures are decoded."""
    took = []
    async with AsyncClient(stage.target) as client, grpc.aio.insecure_channel(stage.target) as channel:
        call = await _opened(channel)

        async def turn() -> None:
            question, picture = next(stage.stock)
            await client.answer(question.text, picture)

        busy = asyncio.create_task(repeated(turn, 4))
        await asyncio.sleep(1)
        for at in range(setup.count(500, 20)):
            began = perf_counter()
            await call.write(session_pb2.ClientMessage(ping=session_pb2.Ping(payload=at.to_bytes(4, "big"))))
            await call.read()
            took.append((perf_counter() - began) * 1e3)
            await asyncio.sleep(0.02)
        busy.cancel()
        with suppress(asyncio.CancelledError):
            await busy
        call.cancel()
    return Part([at_most("pong while engines are busy, p99", percentile(took, 0.99), "ms", 20)], {"took_ms": took})


async def memory(setup: Setup, stage: Served) -> Part:
    """Memory of idle sessions, each on a connection of its own, and what many that were closed leave behind."""
    count, rounds = setup.count(500, 20), setup.count(10_000, 40)
    await _open_and_close(stage, setup.count(500, 20))  # what the first ones bring with them
    await asyncio.sleep(setup.count(int(_SETTLE_S), 1))
    before = tree_mib(stage.server.pid)
    async with AsyncExitStack() as stack:
        for at in range(count):
            options = [("grpc.use_local_subchannel_pool", 1), ("quizglass.bench", at)]
            await _opened(await stack.enter_async_context(grpc.aio.insecure_channel(stage.target, options=options)))
        await asyncio.sleep(setup.count(int(_SETTLE_S), 1))
        each = (tree_mib(stage.server.pid) - before) * 1024 / count
    await _open_and_close(stage, rounds)
    await asyncio.sleep(setup.count(int(_SETTLE_S), 1))
    growth = (tree_mib(stage.server.pid) / before - 1) * 100
    rows = [
        at_most("an idle session on a connection of its own", each, "KiB", 96),
        at_most(f"growth after {rounds} sessions opened and closed", growth, "%", 2),
        Row("the server itself", before, "MiB"),
    ]
    return Part(rows)


async def _opened(channel: grpc.aio.Channel) -> Any:
    call = session_pb2_grpc.SessionServiceStub(channel).Converse()  # type: ignore[no-untyped-call]
    await call.write(session_pb2.ClientMessage(open=session_pb2.Open(holder=_HOLDER)))
    await call.read()
    return call


async def _open_and_close(stage: Served, count: int) -> None:
    async with grpc.aio.insecure_channel(stage.target) as channel:
        for _ in range(count):
            call = await _opened(channel)
            await call.write(session_pb2.ClientMessage(close=session_pb2.Close()))
            await call.read()
