"""A TCP proxy whose connections are cut on command: orderly (FIN), by a reset (RST), or silently.

What passes may also be HTTP/2 of which one stream is reset, as a proxy in between does it, while the connection stays.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

from bench.session.frame_ends import FrameEnds, rst_stream

_CHUNK = 16 * 1024


class Cut(StrEnum):
    """How a connection ends."""

    FIN = "fin"
    RST = "rst"
    BLACK_HOLE = "black hole"
    """Nothing passes any more, in either direction, and no end is closed."""
    STREAM_RESET = "stream reset"
    """Both ends get RST_STREAM for the newest stream, and the connection stays."""


class _Direction:
    """One direction of a connection: bytes to one of its ends, with whole frames between them."""

    def __init__(self, writer: asyncio.StreamWriter, preface: int) -> None:
        self.writer = writer
        self.frames = FrameEnds(preface)
        self._between = b""
        """Frame that is written where the next one ends."""

    def send(self, chunk: bytes) -> None:
        """Pass bytes on."""
        end = self.frames.feed(chunk)
        if self._between and end is not None:
            chunk, self._between = chunk[:end] + self._between + chunk[end:], b""
        self.writer.write(chunk)

    def put_in(self, frame: bytes) -> None:
        """Write a frame of the proxy's own, as soon as none is half written."""
        if self.frames.whole:
            self.writer.write(frame)
        else:
            self._between = frame


class _Pair:
    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.sides = (client, server)
        self.down, self.up = _Direction(client, 0), _Direction(server, FrameEnds.PREFACE)
        self.swallowed = False
        self.muted = False
        """Whether what the server says is swallowed."""
        self.passed = 0
        """Bytes, in both directions."""
        self.ended = 0
        """Directions in which nothing more comes."""

    @property
    def has_stream(self) -> bool:
        """Whether a stream has begun, and both ends have said what HTTP/2 begins with."""
        return self.up.frames.newest > 0 and self.down.frames.count > 0

    def reset_stream(self) -> None:
        """Tell both ends that the newest stream is over."""
        for direction in (self.up, self.down):
            direction.put_in(rst_stream(self.up.frames.newest))


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
        self._orders: list[tuple[int, Cut]] = []
        self.cuts = Counter[Cut]()
        """Connections that were cut, by how."""
        self.went_dark = asyncio.Event()
        """Set by every black hole, for whoever then tells a client that its network has changed."""
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
        """Stop passing on what servers send over the present connections."""
        for pair in self._pairs:
            pair.muted = True

    def cut(self, how: Cut) -> int:
        """End every connection that is there, or its newest stream; how many those were."""
        pairs = [pair for pair in self._pairs if how is not Cut.STREAM_RESET or pair.has_stream]
        for pair in pairs:
            self._cut(pair, how)
        return len(pairs)

    def cut_after(self, size: int, how: Cut) -> None:
        """End the next connection that has no such order yet once so many bytes have passed over it."""
        self._orders.append((size, how))

    def _cut(self, pair: _Pair, how: Cut) -> None:
        self._pairs.remove(pair)
        self.cuts[how] += 1
        if how is Cut.STREAM_RESET:
            pair.reset_stream()
            return
        pair.swallowed = True
        if how is Cut.BLACK_HOLE:
            self.went_dark.set()
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
        order = self._orders.pop(0) if self._orders else None
        for task in (
            asyncio.create_task(self._pass(reader, pair.up, pair, order, self._rate)),
            asyncio.create_task(self._pass(there, pair.down, pair, order, 0.0)),
        ):
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        direction: _Direction,
        pair: _Pair,
        order: tuple[int, Cut] | None,
        rate: float,
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK if not rate else 2048):
                if pair.swallowed or (pair.muted and direction is pair.down):
                    continue
                if rate:
                    await asyncio.sleep(len(chunk) / rate)
                if direction is pair.up:
                    self.up += len(chunk)
                pair.passed += len(chunk)
                direction.send(chunk)
                await direction.writer.drain()
                if order is not None and pair.passed >= order[0]:
                    self._carry_out(pair, order[1])
            if not pair.swallowed:
                direction.writer.close()
        pair.ended += 1
        if pair.ended == len(pair.sides) and pair in self._pairs:
            self._pairs.remove(pair)

    def _carry_out(self, pair: _Pair, how: Cut) -> None:
        """Cut a connection as it was ordered, once, and a stream not before there is one."""
        if pair in self._pairs and (how is not Cut.STREAM_RESET or pair.has_stream):
            self._cut(pair, how)


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
