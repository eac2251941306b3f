"""Sends messages within a time, and bounds the bytes that clients ask for and do not take.

A client grants how much it is sent, and may grant nothing for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


class Unread(Exception):
    """The client did not take a message in time. It cannot be told so: a status comes after what it does not take."""


class Outgoing:
    """What goes out, over all connections.

    Args:
        most_bytes: that wait to be taken. Beyond, those that have waited longest are ended.
        limit_s: seconds that one message may wait.
    """

    def __init__(self, most_bytes: int, limit_s: float) -> None:
        self._most_bytes = most_bytes
        self._limit_s = limit_s
        self._bytes = 0
        self._waiting: dict[asyncio.Timeout, int] = {}

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
            self._bytes -= self._waiting.pop(timeout, 0)

    def _add(self, timeout: asyncio.Timeout, size: int) -> None:
        """Count a message in; the oldest make room, whose bytes are given up at once."""
        while self._waiting and self._bytes + size > self._most_bytes:
            oldest = next(iter(self._waiting))
            self._bytes -= self._waiting.pop(oldest)
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())
        self._waiting[timeout] = size
        self._bytes += size
