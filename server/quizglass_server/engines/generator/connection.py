"""HTTP/1.1 over connections that are kept: to a Unix socket or to a port, one request at a time on each.

A response that is not read to its end takes its connection along, which is how a server learns that its client has
left. What a server sends is a stranger's: a head, a line or a document that is too long is refused before it is kept.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from time import monotonic

import h11

from quizglass.hosts import host_and_port
from quizglass_server.observe import tracing

_HTTP, _HTTPS = 80, 443
_CHUNK = 1 << 16
_CROWDED_S, _CROWDED_EVERY_S = 30.0, 0.005
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}
MOST_DOCUMENT = 1 << 26
"""Bytes of a response that is read whole."""
MOST_LINE = 1 << 22
"""Bytes of one event of a stream."""


class ConnectionLost(Exception):
    """The server cannot be reached, or left before its response was complete.

    Args:
        message: how.
        ours: whether this process is to blame, which can open nothing more.
    """

    def __init__(self, message: str, *, ours: bool = False) -> None:
        super().__init__(message)
        self.ours = ours


class NotHttp(Exception):
    """What the server sent is no response; the message says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    socket: Path | None = None
    """A Unix socket; None: a port."""
    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] | None = None
    """Sent with every request, such as Authorization."""
    path: str = ""
    """What stands in front of the path of every request, where the server is not at the root."""

    def __str__(self) -> str:
        """As logs and errors name it."""
        scheme = "https" if self.tls else "http"
        return f"unix:{self.socket}" if self.socket else f"{scheme}://{host_and_port(self.host, self.port)}{self.path}"

    @property
    def authority(self) -> str:
        """The header Host (RFC 9110, 7.2): with the port unless it is the scheme's own; a socket has none."""
        if self.socket is not None:
            return "localhost"
        own = _HTTPS if self.tls else _HTTP
        return host_and_port(self.host, self.port).removesuffix(f":{own}")

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A new connection; raises OSError."""
        if self.socket is None:
            return await asyncio.open_connection(self.host, self.port, ssl=self.tls, limit=_CHUNK)
        until = monotonic() + _CROWDED_S
        while True:
            try:
                return await asyncio.open_unix_connection(str(self.socket), limit=_CHUNK)
            except OSError as error:
                # A Unix socket turns away those for whom its queue has no place; llama-server's has five.
                if error.errno != errno.EAGAIN or monotonic() > until:
                    raise
            await asyncio.sleep(_CROWDED_EVERY_S)


class _HttpConnection:
    """One connection, and where it stands in the protocol."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_CHUNK)
        self.used = False
        self._reader = reader
        self._writer = writer
        self._ended = False

    @property
    def alive(self) -> bool:
        """Whether the server has not closed it."""
        return not (self._writer.is_closing() or self._reader.at_eof())

    async def send(self, head: h11.Request, body: bytes) -> None:
        """Send a whole request."""
        first = self.http.send(head) or b""
        # With a length given, h11 has nothing to add to the body, and would copy it.
        self.http.send_with_data_passthrough(h11.Data(data=body))
        self.http.send(h11.EndOfMessage())
        with self._named():
            self._writer.writelines([first, body])
            await self._writer.drain()

    async def event(self) -> h11.Event:
        """The next event of the response."""
        with self._named():
            while not isinstance(event := self.http.next_event(), h11.Event):
                received = await self._reader.read(_CHUNK)
                self._ended = not received
                self.http.receive_data(received)
            return event

    def next_request(self) -> bool:
        """Make it ready for another one; whether it can take one."""
        if self.http.our_state is h11.DONE and self.http.their_state is h11.DONE and self.alive:
            self.http.start_next_cycle()
            self.used = True
            return True
        return False

    def close(self) -> None:
        """Close it now."""
        self._writer.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of the network and the protocol as this module's."""
        try:
            yield
        except h11.RemoteProtocolError as error:
            if self._ended:
                raise ConnectionLost("the server left before its response was complete") from error
            raise NotHttp(str(error)) from error
        except OSError as error:
            raise ConnectionLost(str(error.strerror or error)) from error


class Response:
    """A response whose head has come."""

    def __init__(self, connection: _HttpConnection, head: h11.Response) -> None:
        self.status = head.status_code
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}
        self._connection = connection

    @property
    def ok(self) -> bool:
        """Whether the status says so."""
        return self.status == HTTPStatus.OK

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body as it comes.

        Raises:
            ConnectionLost: the server left before the end.
            NotHttp: it is not well formed.
        """
        while not isinstance(event := await self._connection.event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.ConnectionClosed):
                raise ConnectionLost("the server left in the middle of a response")

    async def document(self, most: int = MOST_DOCUMENT) -> bytes:
        """The whole body, of at most so many bytes. Raises as `chunks`, and NotHttp where it is longer."""
        pieces: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            pieces.append(chunk)
            size += len(chunk)
            if size > most:
                raise NotHttp(f"the response is longer than {most} bytes")
        return b"".join(pieces)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The body's lines as they come, without their ends. Raises as `document`."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for line in batch:
                    yield line

    async def batches(self, most: int = MOST_LINE) -> AsyncGenerator[list[bytes], None]:
        """The same, those together that come together, of lines of at most so many bytes. Raises as `document`."""
        begun: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            ended, found, rest = chunk.rpartition(b"\n")
            if found:
                yield [line.rstrip(b"\r") for line in b"".join([*begun, ended]).split(b"\n")]
                begun, size = [], 0
            begun.append(rest)
            size += len(rest)
            if size > most:
                raise NotHttp(f"a line of the response is longer than {most} bytes")
        if size:
            yield [b"".join(begun)]


class HttpConnections:
    """HttpConnections to one server, kept for the next request.

    Args:
        address: where it listens.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[_HttpConnection] = []
        self._closed = False

    @asynccontextmanager
    async def request(self, method: str, path: str, body: bytes = b"") -> AsyncIterator[Response]:
        """Ask, and have the response from its head on; one that is not read to its end ends the connection.

        Raises:
            ConnectionLost: the server cannot be reached, or leaves.
            NotHttp: what it sends is no response.
        """
        connection, response = await self._asked(method, path, body)
        try:
            yield response
        finally:
            if self._closed or not connection.next_request():
                connection.close()
            else:
                self._idle.append(connection)

    def close(self) -> None:
        """Close those that are idle; those in use close when their response ends."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    async def _asked(self, method: str, path: str, body: bytes) -> tuple[_HttpConnection, Response]:
        while True:
            connection = await self._free()
            try:
                return connection, await self._ask(connection, method, path, body)
            except ConnectionLost:
                connection.close()
                # A server may close a connection that it has kept at the moment in which it is used again.
                if not connection.used:
                    raise
            except BaseException:
                connection.close()
                raise

    async def _free(self) -> _HttpConnection:
        while self._idle:
            if (connection := self._idle.pop()).alive:
                return connection
            connection.close()
        try:
            return _HttpConnection(*await self.address.opened())
        except OSError as error:
            message = f"{self.address} cannot be reached: {error.strerror or error}"
            raise ConnectionLost(message, ours=error.errno in _EXHAUSTED) from error

    async def _ask(self, connection: _HttpConnection, method: str, path: str, body: bytes) -> Response:
        headers = {"Host": self.address.authority, "Content-Type": "application/json", "Content-Length": str(len(body))}
        headers |= {**(self.address.headers or {}), **tracing.outgoing()}
        await connection.send(
            h11.Request(method=method, target=self.address.path + path, headers=list(headers.items())), body
        )
        while not isinstance(event := await connection.event(), h11.Response):
            if isinstance(event, h11.ConnectionClosed):
                raise ConnectionLost("the server left before it answered")
        return Response(connection, event)
