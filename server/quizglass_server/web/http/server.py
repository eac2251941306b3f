"""Puts an application on a port, in the event loop that is there, until it is stopped."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import uvicorn

from quizglass_server.config.listening import cannot_listen
from quizglass_server.rpc.transport.proxies import Proxies
from quizglass_server.scheduling.places import Places
from quizglass_server.web.http.acceptor import TlsAcceptor
from quizglass_server.web.http.asgi import App
from quizglass_server.web.http.connection import Connection

MOST_CONNECTIONS = 512
IDLE_S = 75
"""An idle connection gives its descriptor back after so many seconds."""
_DATE_S = 1.0
_UNSENT_BYTES = 128 * 1024
"""Bytes of a response that the system takes before it can send them."""
_MOST_HEADER_BYTES = 32 * 1024
_BACKLOG = 2048


class _Uvicorn(uvicorn.Server):
    """Without handlers of signals, which are the whole server's; says when it has started or failed; ends when told.

    Args:
        config: of uvicorn.
        context: what connections are encrypted with, asked for at each; None: they are not.
    """

    def __init__(self, config: uvicorn.Config, context: Callable[[], ssl.SSLContext] | None) -> None:
        super().__init__(config)
        self._context = context
        self._accepting: list[asyncio.Task[None]] = []
        self.started_or_failed = asyncio.Event()
        self._told = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        try:
            await super().startup(sockets if self._context is None else [])
            if self._context is not None:
                acceptors = [TlsAcceptor(each, self._context, self._connection) for each in sockets or ()]
                self._accepting = [asyncio.create_task(each.run(), name="accept TLS") for each in acceptors]
        finally:
            self.started_or_failed.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and let what runs finish."""
        for accepting in self._accepting:
            accepting.cancel()
        if self._accepting:
            await asyncio.wait(self._accepting)
        await super().shutdown(sockets)

    def _connection(self) -> Connection:
        made: Connection = self.config.http_protocol_class(  # type: ignore[call-arg, assignment]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    async def main_loop(self) -> None:
        """Until it is to end, bring the date of answers up to date; uvicorn's own looks ten times a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(_DATE_S):
                    await self._told.wait()

    def end(self, *, now: bool) -> None:
        """Have `serve` end: what runs is waited for, or not if it is to be `now`."""
        self.should_exit, self.force_exit = True, now
        self._told.set()


class WebServer:
    """An application that is being served.

    Args:
        app: answers requests.
        host: address to listen on.
        port: to listen on; 0 takes a free one.
        connections: that there may be.
        proxies: says who clients are; None: no proxy is trusted.
        context: what connections are encrypted with, asked for at each; None: they are not.
        setting: name of the port's setting, for errors.
    """

    def __init__(
        self,
        app: App,
        host: str,
        port: int,
        connections: int = MOST_CONNECTIONS,
        proxies: Proxies | None = None,
        context: Callable[[], ssl.SSLContext] | None = None,
        setting: str = "web_port",
    ) -> None:
        """Take the port; `start` serves.

        Raises:
            SettingsError: the address cannot be listened on.
        """
        self._socket = _bound(host, port, setting)
        self.port: int = self._socket.getsockname()[1]
        places = Places(connections, "connections")
        config = uvicorn.Config(
            app,
            http=partial(Connection, places=places, proxies=proxies or Proxies()),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # errors are answered and logged by the application
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=IDLE_S,
            h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        )
        self._server = _Uvicorn(config, context)
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Accept connections. Raises whatever keeps it from that."""
        self._running = asyncio.create_task(self._server.serve([self._socket]), name="web")
        await self._server.started_or_failed.wait()
        if self._running.done():
            await self._running

    async def stop(self, grace_s: float) -> None:
        """Accept no more, let what runs finish for up to `grace_s` seconds, then end it; with 0, end it now."""
        server = self._server
        server.config.timeout_graceful_shutdown = grace_s  # type: ignore[assignment]  # any number will do
        server.end(now=grace_s == 0)
        if self._running is not None:
            await asyncio.wait({self._running})
        for connection in list(server.server_state.connections):
            connection.end()  # type: ignore[union-attr]  # all are of our class
        self._socket.close()


def _bound(host: str, port: int, setting: str) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, ValueError) as error:
        raise cannot_listen(error, host, port, setting) from error
    try:
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # what a client does not read would be kept by the system instead
                bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
            bound.bind(address)
            bound.listen(_BACKLOG)  # two sockets can be bound to a port without a listener
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise cannot_listen(error, host, port, setting) from error
    return bound
