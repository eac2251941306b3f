"""Sends messages within a time, and bounds the bytes that clients ask for and do not take.

A client grants how much it is sent, and may grant nothing for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from quizglass_server.scheduling.clients import Client, Holdings, current_client


class Unread(Exception):
    """The client did not take a message in time. It cannot be told so: a status comes after what it does not take."""


class Outgoing:
    """What goes out, over all connections.

    Args:
        most_bytes: that wait to be taken. Beyond, those of the address that has most of them are ended, the oldest
            first.
        limit_s: seconds that one message may wait.
    """

    def __init__(self, most_bytes: int, limit_s: float) -> None:
        self._most_bytes = most_bytes
        self._limit_s = limit_s
        self._held = Holdings()
        self._waiting: dict[asyncio.Timeout, tuple[Client, int]] = {}

    async def message(self, size: int, written: Awaitable[None]) -> None:
        """Wait until a message of `size` bytes is written.

        Raises:
            Unread: the client did not take it in time.
        """
        timeout = asyncio.timeout(self._limit_s)
        try:
            async with timeout:
                self._add(timeout, size)
                await written
        except TimeoutError:
            if not timeout.expired():
                raise
            raise Unread from None
        finally:
            self._remove(timeout)

    def _add(self, timeout: asyncio.Timeout, size: int) -> None:
        """Count a message in; others make room, whose bytes are given up at once."""
        client = Client(current_client().address)
        self._held.add(client, size)
        while self._waiting and self._held.total > self._most_bytes:
            heaviest = max(self._waiting, key=lambda each: self._held.of(self._waiting[each][0]))
            self._remove(heaviest)
            if not heaviest.expired():
                heaviest.reschedule(asyncio.get_running_loop().time())
        self._waiting[timeout] = client, size

    def _remove(self, timeout: asyncio.Timeout) -> None:
        if (waiting := self._waiting.pop(timeout, None)) is not None:
            self._held.remove(*waiting)
