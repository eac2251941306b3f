"""One connection of HTTP/1.1: uvicorn's, with the times that it leaves to its users.

A client has a time to send the headers of a request, one in which it takes what it is sent, and one in which it asks
again. There are so many connections and no more.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_S = 10.0
"""Seconds from the first byte of a request, or the opening of the connection, to the end of the headers."""
UNREAD_S = 30.0
"""Seconds that a response may wait for its client to read some of it."""
MOST_CONNECTIONS = 512


class Connection(H11Protocol):
    """A connection that ends where its client takes its time."""

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._timer = self.loop.call_later(HEADER_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

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
