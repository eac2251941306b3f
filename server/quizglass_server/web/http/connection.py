"""One connection of HTTP/1.1: uvicorn's, with the places and the times that it leaves to its users.

A client has a time to send the headers of a request, one in which it takes what it is sent, and one in which it asks
again. A connection has one request at a time, so a bound on connections is one on requests: there are so many places,
shared between addresses (`scheduling.places`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from quizglass.hosts import host_and_port
from quizglass_server.errors import Overloaded
from quizglass_server.rpc.transport.proxies import Proxies
from quizglass_server.scheduling.clients import Client, address_group
from quizglass_server.scheduling.places import Place, Places
from quizglass_server.web.http.asgi import Scope

HEADER_S = 10.0
"""Seconds from the first byte of a request, or the opening of the connection, to the end of the headers."""
UNREAD_S = 30.0
"""Seconds that a response may wait for its client to read some of it."""
TOLD_S = 2.0
"""Seconds in which a connection without a place may ask, to be refused with a reason."""
_SHARE_TOLD = 8
"""There may be one such connection for so many places; beyond, they are closed as they come."""
_REST_S = 1.0
"""An idle connection makes room for another of its address once it was idle for so long."""
_STATE = "connection"


class Connection(H11Protocol):
    """A connection that ends where its client takes its time.

    Args:
        places: for connections.
        proxies: says who a client is.
        given: what uvicorn gives a protocol.
    """

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _place: Place | None = None
    _refusal: Overloaded | None = None
    _entered = _made = False
    _give_up: Callable[[], object] | None = None

    def __init__(self, *, places: Places, proxies: Proxies, **given: Any) -> None:
        super().__init__(**given)
        self._places = places
        self._proxies = proxies
        self.app_state = {**self.app_state, _STATE: self}

    @classmethod
    def of(cls, scope: Scope) -> Connection:
        """The connection that a request came over."""
        connection: Connection = scope["state"][_STATE]
        return connection

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._made = True
        if not self._entered:
            self.enter(self.client, transport.abort)

    def enter(self, client: tuple[str, int] | None, give_up: Callable[[], object]) -> None:
        """Take a place; done once, when the connection is accepted, be it before TLS is agreed on.

        Args:
            client: host and port.
            give_up: ends what is under way until the connection is made.
        """
        self.client, self._give_up, self._entered = client, give_up, True
        self.connections.add(self)
        try:
            self._place = self._places.take(self.client_for(()))
        except Overloaded as refusal:
            self._refusal = refusal
        else:
            self.idle()
        told = max(1, self._places.most // _SHARE_TOLD)
        if self._refusal is not None and len(self.connections) > self._places.most + told:
            self.end()
        else:
            self._timer = self.loop.call_later(TOLD_S if self._refusal else HEADER_S, self.end)

    @property
    def made(self) -> bool:
        """Whether requests can come."""
        return self._made

    def end(self) -> None:
        """Close the connection at once, whatever it is doing."""
        if self._made:
            self.transport.abort()
        elif self._give_up is not None:
            self._give_up()

    def shutdown(self) -> None:
        """Close it once a request that runs is answered."""
        if self._made:
            super().shutdown()
        else:
            self.end()

    def client_for(self, forwarded: tuple[str, ...]) -> Client:
        """The client of a request, given the values of its header `X-Forwarded-For`."""
        host, port = self.client or ("unknown", 0)
        return self._proxies.client(host, f"web {host} {port}", forwarded)

    def named(self, client: Client) -> tuple[str, str]:
        """Its address and port as logs have them, and the address that it asks for where that is another."""
        host, port = self.client or ("unknown", 0)
        return host_and_port(host, port), client.address if client.address != address_group(host) else ""

    def admit(self, client: Client) -> None:
        """Begin a request of a client.

        Raises:
            Overloaded: there is no place for it.
        """
        if self._place is None or self._place.released:
            raise self._refusal or Overloaded("the connection made room for another one; try again", 0.0)
        self._place.move(client)
        self._place.busy()

    def idle(self, give_way: Callable[[], None] | None = None, rest_s: float = _REST_S) -> None:
        """Say that the connection may make room for another one from now on: by `give_way`, or by being closed.

        One of the same address takes its place after `rest_s` seconds.
        """
        if self._place is not None:
            self._place.idle(give_way or self.end, rest_s)

    def busy(self) -> None:
        """Say that the request is being worked on."""
        if self._place is not None:
            self._place.busy()

    def on_response_complete(self) -> None:
        """Wait for the next request, if the connection has a place."""
        if self._place is None or self._place.released:
            self.transport.close()
        else:
            self.idle()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or too large a one, by the status that h11 has for it, and close."""
        error = sys.exception()
        status = HTTPStatus(error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400)
        if status is HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            msg = f"The headers of a request may have {self.config.h11_max_incomplete_event_size} bytes."
        headers = [("content-type", "text/plain"), ("content-length", f"{len(msg)}"), ("connection", "close")]
        response = h11.Response(status_code=status, headers=headers, reason=status.phrase.encode())
        for event in (response, h11.Data(data=msg.encode()), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks, and give the place back."""
        self.resume_writing()
        self.leave()
        super().connection_lost(exc)

    def leave(self) -> None:
        """Give back what `enter` took."""
        self._stop_waiting()
        self.connections.discard(self)
        if self._place is not None:
            self._place.release()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the headers that they begin or belong to have their time from now, or from before."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_S, self.transport.abort)

    def pause_writing(self) -> None:
        """What was sent waits for its client."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The client took something."""
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
