"""A whole server process on the starter bundle, for tests of turns when its generator ends."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quizglass_client import AsyncClient, ClientError, Entry
from quizglass_client.local import LocalServer
from quizglass_lab.pocketworld.draw import draw_thing
from quizglass_lab.pocketworld.world import core_world

PATIENCE_S = 300
"""A server and its generators start again and again, beside whatever else the machine does."""
HEALTH = health_pb2.HealthCheckResponse


@cache
def picture() -> bytes:
    """A thing that the starter knows, as PNG."""
    out = io.BytesIO()
    draw_thing(core_world().things[0].look, 224).save(out, "PNG")
    return out.getvalue()


@asynccontextmanager
async def served(bundle: Path, folder: Path, *flags: str) -> AsyncIterator[tuple[LocalServer, AsyncClient]]:
    """A server process with one entry, and a client."""
    server = LocalServer(bundle, folder / "knowledge", flags=flags, log=folder / "server.log")
    await asyncio.to_thread(server.__enter__)
    try:
        async with AsyncClient(server.target, timeout=PATIENCE_S) as client:
            await client.add_entries([Entry("zubol", "Zubol", text="The Zubol weighs 12 kg.")])
            yield server, client
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def statuses(channel: grpc.aio.Channel, service: str) -> AsyncIterator[int]:
    """What the health service says of a service, as it changes."""
    async for response in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=service)):
        yield response.status


async def asked(client: AsyncClient) -> str:
    """The answer to a question about the picture."""
    return (await client.answer("What colour is this?", picture(), policy="none")).text


async def outcome(client: AsyncClient) -> str:
    """The answer, or why there is none."""
    try:
        return await asked(client)
    except ClientError as error:
        return f"{error.status} {error.reason}"
