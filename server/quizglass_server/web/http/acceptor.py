"""Accepts connections and agrees on TLS with their clients.

The event loop's own server would do that too, but says nothing of a connection before both sides have agreed: a client
that never begins would hold a descriptor that is not counted. Here it has a place from the first moment on, and as long
as any other to send the headers of a request.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

from quizglass_server.config.logs import RateLimitedLogger
from quizglass_server.web.http.connection import HEADER_S, Connection

logger = RateLimitedLogger(logging.getLogger(__name__))
_PAUSE_S = 0.2
"""After a connection that could not be accepted: there may be no descriptor left."""
_HANDSHAKE = b"\x16"
"""What a connection of TLS begins with: a record with a part of the handshake."""
_IN_CLEAR = b"this port speaks HTTPS: begin its address with https://\n"
_TOLD = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (
    len(_IN_CLEAR),
    _IN_CLEAR,
)


class TlsAcceptor:
    """Accepts connections on a listening socket.

    Args:
        listening: the socket.
        context: the certificate that clients are shown, asked for at each connection.
        made: makes the protocol of a connection.
    """

    def __init__(
        self, listening: socket.socket, context: Callable[[], ssl.SSLContext], made: Callable[[], Connection]
    ) -> None:
        self._listening = listening
        self._context = context
        self._made = made
        self._opening: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Accept until cancelled; connections that are open then stay open."""
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        try:
            while True:
                try:
                    accepted, client = await loop.sock_accept(self._listening)
                except OSError as error:
                    logger.warning("a connection cannot be accepted", why=error.strerror or str(error))
                    await asyncio.sleep(_PAUSE_S)
                    continue
                self._begin(accepted, client[:2])
        finally:
            for task in self._opening:
                task.cancel()

    def _begin(self, accepted: socket.socket, client: tuple[str, int]) -> None:
        connection = self._made()
        task = asyncio.create_task(self._open(accepted, connection, client), name="TLS handshake")
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        connection.enter(client, task.cancel)
        if task.cancelling():  # one connection too many: the task ends before it has begun
            accepted.close()
            connection.leave()

    async def _open(self, accepted: socket.socket, connection: Connection, client: tuple[str, int]) -> None:
        loop, ours = asyncio.get_running_loop(), True
        try:
            begins = await _first_byte(accepted)
            if begins != _HANDSHAKE:
                if begins:
                    accepted.send(_TOLD)
                return
            ours = False  # from here on the event loop closes it, whatever happens
            await loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=self._context(), ssl_handshake_timeout=HEADER_S
            )
        except OSError as error:  # ssl.SSLError among them, and TimeoutError
            why = getattr(error, "reason", None) or error.strerror or type(error).__name__
            logger.warning("TLS could not be agreed on", peer=f"{client[0]}:{client[1]}", why=why)
        finally:
            if ours:
                accepted.close()
            if not connection.made:
                connection.leave()


async def _first_byte(accepted: socket.socket) -> bytes:
    """The first byte that a client sends, which can be read again; empty where it has gone."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(accepted, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(accepted)
    return accepted.recv(1, socket.MSG_PEEK)
