"""A link as a walk has it: a TCP proxy in this process that delays, limits and cuts what passes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

_CHUNK = 4096
_RESENT_S = 0.2
"""What a lost packet costs over TCP: it is sent again after about so long."""


@dataclass(frozen=True, slots=True)
class LinkProfile:
    """How a link is, in each direction."""

    delay_ms: float = 0.0
    rate_kbit: float = 0.0
    """0: no limit."""
    loss: float = 0.0
    """Share of packets that have to be sent again, 0 to 1."""


class ShapingProxy:
    """Passes bytes on to a server as its profile says, which may change meanwhile.

    Args:
        host: of the server.
        port: of the server.
        seed: of the losses.
    """

    def __init__(self, host: str, port: int, seed: int = 0) -> None:
        self.profile = LinkProfile()
        self.target = ""
        self.up = 0
        """Bytes from the client."""
        self._to = host, port
        self._random = random.Random(seed)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[ShapingProxy]:
        """Serve on a free port of this machine, which `target` names."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            self.cut()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """End all connections."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, onward = await asyncio.open_connection(*self._to)
        except OSError:
            writer.transport.abort()
            return
        pair = {writer, onward}
        self._writers |= pair
        for source, sink, up in ((reader, onward, True), (there, writer, False)):
            due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
            for work in (self._take(source, due, up), self._deliver(due, sink)):
                task = asyncio.create_task(work)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _take(self, source: asyncio.StreamReader, due: asyncio.Queue[tuple[float, bytes]], up: bool) -> None:
        """Read what is sent, as fast as the link carries it; `due` says when it is there, and ends with no bytes."""
        loop, free = asyncio.get_running_loop(), 0.0
        with suppress(OSError):
            while data := await source.read(_CHUNK):
                self.up += len(data) if up else 0
                profile, now = self.profile, loop.time()
                free = max(free, now) + (len(data) * 8 / (profile.rate_kbit * 1e3) if profile.rate_kbit else 0.0)
                lost = _RESENT_S if self._random.random() < profile.loss else 0.0
                due.put_nowait((free + profile.delay_ms / 1e3 + lost, data))
                if free > now:
                    await asyncio.sleep(free - now)
        due.put_nowait((0.0, b""))

    async def _deliver(self, due: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while (arrival := await due.get())[1]:
                await asyncio.sleep(max(0.0, arrival[0] - loop.time()))
                sink.write(arrival[1])
                await sink.drain()
        sink.close()
        self._writers.discard(sink)
