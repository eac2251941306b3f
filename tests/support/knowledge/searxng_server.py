"""A server over a real socket that says what a SearXNG said, or what one that is broken or hostile might say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

Say = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class SearxNgServer:
    """What was asked of it, and what it says."""

    say: Say
    port: int = 0
    connections: int = 0
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.asked.append(parse_qs(urlsplit(head.split(" ")[1]).query))
                await self.say(writer)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def searxng(say: Say) -> AsyncIterator[SearxNgServer]:
    made = SearxNgServer(say)
    server = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


def sends(body: bytes, status: str = "200 OK", *, length: int | None = None) -> Say:
    """A response with this body; `length` is what it says its length is."""

    async def say(writer: asyncio.StreamWriter) -> None:
        size = len(body) if length is None else length
        writer.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode())
        writer.write(body)

    return say


def finds(*results: dict[str, Any], infoboxes: tuple[dict[str, Any], ...] = ()) -> Say:
    """A page of results as SearXNG has them."""
    page = {"query": "q", "results": list(results), "answers": [], "infoboxes": list(infoboxes), "suggestions": []}
    return sends(json.dumps(page).encode())


async def hangs(writer: asyncio.StreamWriter) -> None:
    """Says nothing, ever."""
    await asyncio.Event().wait()


async def dies(writer: asyncio.StreamWriter) -> None:
    """Leaves in the middle of its answer."""
    writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"results": [')
    await writer.drain()
    writer.transport.abort()
