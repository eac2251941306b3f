"""A TCP proxy whose connections are cut on command: orderly (FIN), by a reset (RST), or so that nobody is told."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

_CHUNK = 16 * 1024


class Cut(StrEnum):
    """How a connection ends."""

    FIN = "fin"
    RST = "rst"
    BLACK_HOLE = "black hole"
    """Nothing passes any more, in either direction, and nobody is told."""


class _Pair:
    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.sides = (client, server)
        self.swallowed = False
        self.muted = False
        """Whether what the server says is swallowed."""
        self.passed = 0
        """Bytes, in both directions."""


class CuttingProxy:
    """Passes bytes on to a port of this machine.

    Args:
        port: where to.
        rate: bytes a second from clients to the server; 0 for no limit.
    """

    def __init__(self, port: int, rate: float = 0.0) -> None:
        self._port = port
        self._rate = rate
        self._pairs: list[_Pair] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._cuts: list[tuple[int, Cut]] = []
        self.connections = 0
        self.refusing = False
        """Whether new connections are closed as they come."""
        self.up = 0
        """Bytes that clients sent."""
        self.target = ""

    def move(self, port: int) -> None:
        """Pass what comes from now on to another port."""
        self._port = port

    def mute(self) -> None:
        """Let nothing more of what servers say pass over the connections that are there."""
        for pair in self._pairs:
            pair.muted = True

    def cut(self, how: Cut) -> int:
        """End every connection that is there; how many those were."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            self._cut(pair, how)
        return len(pairs)

    def cut_after(self, size: int, how: Cut) -> None:
        """End the next connection that has no such order yet once so many bytes have passed over it."""
        self._cuts.append((size, how))

    def _cut(self, pair: _Pair, how: Cut) -> None:
        pair.swallowed = True
        for side in pair.sides:
            match how:
                case Cut.RST:
                    there: socket.socket = side.get_extra_info("socket")
                    with suppress(OSError):
                        there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    side.transport.abort()
                case Cut.FIN:
                    side.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.refusing:
            writer.transport.abort()
            return
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        pair = _Pair(writer, onward)
        self._pairs.append(pair)
        order = self._cuts.pop(0) if self._cuts else None
        for task in (
            asyncio.create_task(self._pass(reader, onward, pair, order, self._rate)),
            asyncio.create_task(self._pass(there, writer, pair, order, 0.0)),
        ):
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        pair: _Pair,
        order: tuple[int, Cut] | None,
        rate: float,
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK if not rate else 2048):
                if pair.swallowed or (pair.muted and writer is pair.sides[0]):
                    continue
                if rate:
                    await asyncio.sleep(len(chunk) / rate)
                if writer is pair.sides[1]:
                    self.up += len(chunk)
                pair.passed += len(chunk)
                writer.write(chunk)
                await writer.drain()
                if order is not None and pair.passed >= order[0] and pair in self._pairs:
                    self._pairs.remove(pair)
                    self._cut(pair, order[1])
                    return
            if not pair.swallowed:
                writer.close()


@asynccontextmanager
async def cutting_proxy(port: int, rate: float = 0.0) -> AsyncIterator[CuttingProxy]:
    """A proxy in front of a port, until the block is left."""
    proxy = CuttingProxy(port, rate)
    # A small window: what a slow link has not carried waits with its sender.
    limit = 16 * 1024 if rate else 1 << 16
    server = await asyncio.start_server(proxy._serve, "127.0.0.1", 0, limit=limit)
    if rate:
        for there in server.sockets:
            there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * 1024)
    proxy.target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut(Cut.RST)
        for task in list(proxy._tasks):
            task.cancel()
        await asyncio.gather(*proxy._tasks, return_exceptions=True)
