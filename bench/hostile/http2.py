"""A client that speaks HTTP/2 frame by frame, to say what no gRPC library would."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
_INITIAL_WINDOW = 4
_CANCEL = 8
_MOST_IN_FRAME = 16_384
_DEFAULT_WINDOW = 65_535


class Http2:
    """One connection. It answers settings and pings by itself and keeps every other frame in `frames`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last_stream = -1
        self._room: dict[int, int] = {0: _DEFAULT_WINDOW}
        self._stream_window = _DEFAULT_WINDOW
        self._changed = asyncio.Condition()
        self.frames: list[tuple[int, int, int, bytes]] = []
        """Type, flags, stream and payload of a received frame."""
        self.closed = False

    async def call(self, path: str, *, headers: Sequence[tuple[str, str]] = (), end: bool = False) -> int:
        """Begin a call with its headers; the stream's number. `end`: nothing will be sent on it."""
        self._last_stream += 2
        stream = self._last_stream
        self._room[stream] = self._stream_window
        usual = ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test"))
        grpc = (("te", "trailers"), ("content-type", "application/grpc"))
        block = b"".join(_header(*each) for each in (*usual, *grpc, *headers))
        await self._send(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, block)
        return stream

    async def message(self, stream: int, message: bytes, *, end: bool = True) -> None:
        """Send a whole message, and nothing after it unless `end` is false."""
        await self.part(stream, _prefix(len(message)) + message, end=end)

    async def begin_message(self, stream: int, length: int, sent: int) -> None:
        """Announce a message of `length` bytes and send the first of them, as far as the server lets it."""
        await self.part(stream, _prefix(length) + bytes(sent))

    async def part(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send some bytes of a message, waiting for the windows that the server grants."""
        view = memoryview(data)
        while view:
            async with self._changed:
                await self._changed.wait_for(lambda: self.closed or min(self._room[0], self._room[stream]) > 0)
                size = min(_MOST_IN_FRAME, len(view), self._room[0], self._room[stream])
                self._room[0] -= size
                self._room[stream] -= size
            if self.closed:
                raise ConnectionError("the server closed the connection")
            last = end and size == len(view)
            await self._send(DATA, END_STREAM if last else 0, stream, bytes(view[:size]))
            view = view[size:]
        if end and not data:
            await self._send(DATA, END_STREAM, stream, b"")

    async def reset(self, stream: int) -> None:
        """Take a call back."""
        await self._send(RST_STREAM, 0, stream, _CANCEL.to_bytes(4, "big"))

    async def begun(self, stream: int) -> None:
        """Wait until the server has sent the headers of a response, or nothing more can come."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.closed or bool(self.of(stream, HEADERS)))

    async def first_begun(self, streams: Iterable[int]) -> int:
        """Wait until the server has sent the headers of a response on one of some streams: which one.

        Raises:
            ConnectionError: the server closed the connection before.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: self.closed or any(self.of(stream, HEADERS) for stream in streams))
        begun = [stream for stream in streams if self.of(stream, HEADERS)]
        if not begun:
            raise ConnectionError("the server closed the connection")
        return begun[0]

    async def ended(self, stream: int) -> bytes | None:
        """Wait until the server has ended a stream: its trailers, not decoded, or None where the connection was cut."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.closed or self._end(stream) is not None)
        return self._end(stream)

    async def until_closed(self) -> None:
        """Wait until the server has closed the connection."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.closed)

    def of(self, stream: int, kind: int) -> list[bytes]:
        """Payloads of a stream's frames of one type."""
        return [payload for type_, _, number, payload in self.frames if number == stream and type_ == kind]

    def _end(self, stream: int) -> bytes | None:
        for kind, flags, number, payload in self.frames:
            if number == stream and (kind == RST_STREAM or (kind == HEADERS and flags & END_STREAM)):
                return payload
        return None

    async def start(self, *, window: int | None) -> None:
        """Shake hands; `window`: how many bytes of each stream the server may send before it is granted more."""
        chosen = b"" if window is None else struct.pack(">HI", _INITIAL_WINDOW, window)
        self._writer.write(_PREFACE)
        await self._send(SETTINGS, 0, 0, chosen)

    async def follow(self) -> None:
        """Read frames until the connection ends."""
        try:
            while True:
                head = await self._reader.readexactly(9)
                length, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
                stream = int.from_bytes(head[5:], "big") & 0x7FFFFFFF
                await self._take(kind, flags, stream, await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            async with self._changed:
                self.closed = True
                self._changed.notify_all()

    async def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        async with self._changed:
            if kind == SETTINGS and not flags & ACK:
                self._set(payload)
                await self._send(SETTINGS, ACK, 0, b"")
            elif kind == PING and not flags & ACK:
                await self._send(PING, ACK, 0, payload)
            elif kind == WINDOW_UPDATE:
                self._room[stream] = self._room.get(stream, 0) + int.from_bytes(payload, "big")
            else:
                self.frames.append((kind, flags, stream, payload))
            self._changed.notify_all()

    def _set(self, payload: bytes) -> None:
        for name, value in struct.iter_unpack(">HI", payload):
            if name == _INITIAL_WINDOW:
                for stream in self._room:
                    if stream:
                        self._room[stream] += value - self._stream_window
                self._stream_window = value

    async def _send(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
        self._writer.write(head + payload)
        await self._writer.drain()


@asynccontextmanager
async def http2(target: str, *, window: int | None = None, source: str | None = None) -> AsyncIterator[Http2]:
    """Connect to "host:port" from a `source` address of this machine; see `Http2.start` for the window."""
    host, _, port = target.rpartition(":")
    local = None if source is None else (source, 0)
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=local)
    connection = Http2(reader, writer)
    following = asyncio.create_task(connection.follow())
    try:
        with suppress(ConnectionError):  # it may be closed as soon as it is open: see `closed`
            await connection.start(window=window)
        yield connection
    finally:
        following.cancel()
        await asyncio.wait({following})
        writer.close()


def _prefix(length: int) -> bytes:
    """What comes before a message of gRPC: not compressed, and its length."""
    return b"\x00" + length.to_bytes(4, "big")


def _header(name: str, value: str) -> bytes:
    """One header, in HPACK's form that needs no table and no Huffman code."""
    return b"\x00" + _text(name) + _text(value)


def _text(text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) > 126:
        raise ValueError("longer headers need HPACK's integers of several bytes")
    return bytes((len(encoded),)) + encoded
