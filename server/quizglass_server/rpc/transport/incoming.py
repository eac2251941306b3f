"""Receives messages within a time, and bounds the bytes of those that are not whole yet.

gRPC compares a message with its limits once all of it is there, so that until then a client may make the server hold
as much as it likes. How much that is, the system knows: it counts what each connection has received.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from time import perf_counter

from quizglass_server.errors import Overloaded, Unfinished
from quizglass_server.rpc.transport.sockets import Sockets

_LOOK_S = 0.05
"""Between two looks at what comes in: what a fast client sends meanwhile may be beyond the bound."""
_LOOK_SHARE = 0.05
"""Of the time, at most, is spent on looking."""
_MANY = 4096
_RETRY_S = 1.0


@dataclass(eq=False, slots=True)
class _Connection:
    before: int = 0
    """Bytes received when nothing was expected."""
    whole: int = 0
    """Bytes of messages that have become whole since."""
    expected: set[_Expected] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class _Expected:
    timeout: asyncio.Timeout
    too_much: bool = False


class Incoming:
    """What comes in, over all connections.

    Args:
        most_bytes: of messages that are not whole. Beyond, those of the connection that has most of them are ended.
        limit_s: seconds that a message may take, waiting for its first byte included.
        sockets: where bytes are counted.
    """

    def __init__(self, most_bytes: int, limit_s: float, sockets: Sockets) -> None:
        self._most_bytes = most_bytes
        self._limit_s = limit_s
        self._sockets = sockets
        self._connections: dict[str, _Connection] = {}
        self._watching: asyncio.Task[None] | None = None

    async def message(self, peer: str, read: Awaitable[object]) -> object:
        """The next message of a call, or what stands for its end.

        Raises:
            Unfinished: it did not come, or not whole, in time.
            Overloaded: too much was coming in, and most of it on this connection.
        """
        connection = self._connection(peer)
        timeout = asyncio.timeout(self._limit_s)
        expected = _Expected(timeout)
        connection.expected.add(expected)
        self._watch()
        try:
            async with timeout:
                message = await read
        except TimeoutError:
            if not timeout.expired():
                raise
            raise self._too_much() if expected.too_much else Unfinished(self._limit_s) from None
        finally:
            connection.expected.discard(expected)
        if isinstance(message, bytes):
            connection.whole += len(message)
        return message

    def _connection(self, peer: str) -> _Connection:
        """Of a peer. One that is new has received nothing before; of one that was idle the count begins anew."""
        known = self._connections.get(peer)
        if known is None:
            if len(self._connections) >= _MANY:
                self._forget_idle()
            known = self._connections[peer] = _Connection()
        elif not known.expected:
            known.before, known.whole = self._sockets.received([peer]).get(peer, 0), 0
        return known

    def _forget_idle(self) -> None:
        self._connections = {peer: each for peer, each in self._connections.items() if each.expected}

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._look_again(), name="watch over unfinished messages")

    async def _look_again(self) -> None:
        pause = _LOOK_S
        while True:
            await asyncio.sleep(pause)
            busy = {peer: each for peer, each in self._connections.items() if each.expected}
            if not busy:
                return
            started = perf_counter()
            self._bound(busy)
            pause = max(_LOOK_S, (perf_counter() - started) / _LOOK_SHARE)

    def _bound(self, busy: dict[str, _Connection]) -> None:
        received = self._sockets.received(busy)
        unfinished = {peer: max(0, received.get(peer, 0) - each.before - each.whole) for peer, each in busy.items()}
        total = sum(unfinished.values())
        for peer in sorted(unfinished, key=lambda peer: unfinished[peer], reverse=True):
            if total <= self._most_bytes:
                return
            total -= unfinished[peer]
            for expected in busy[peer].expected:
                if not expected.timeout.expired():
                    expected.too_much = True
                    expected.timeout.reschedule(asyncio.get_running_loop().time())

    def _too_much(self) -> Overloaded:
        most = self._most_bytes >> 20
        return Overloaded(f"more than {most} MiB of unfinished messages are coming in; try again later", _RETRY_S)
