"""From the engine's thread to the event loop: what each request gives, and one wake-up for all that a step gave."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import Generic, TypeVar, cast

GATHER_S = 0.003
"""Tokens of a fast model share messages, which cost more than they do; of a slow one each is sent as it comes."""

T = TypeVar("T")


class Mailbox(Generic[T]):
    """What the engine's thread has for one request's caller on the event loop."""

    def __init__(self, outbox: Deliveries) -> None:
        self.told = -GATHER_S
        """When the event loop was last told; kept by the outbox."""
        self._outbox = outbox
        self._items: deque[T | BaseException] = deque()
        self._arrived = asyncio.Event()

    def put(self, item: object, *, urgent: bool = True) -> None:
        """Called by the engine's thread; the outbox tells the event loop, an urgent item's at its next flush."""
        self._items.append(cast("T | BaseException", item))
        self._outbox.note(self, urgent=urgent)

    def wake(self) -> None:
        """Called by the event loop."""
        self._arrived.set()

    async def take(self) -> list[T]:
        """Everything that has arrived, at least one item; raises what the engine's thread put as an error."""
        while not self._items:
            # Cleared before the items are looked at again: what is put afterwards wakes it again.
            self._arrived.clear()
            if not self._items:
                await self._arrived.wait()
        taken: list[T] = []
        while self._items:
            item = self._items.popleft()
            if not isinstance(item, BaseException):
                taken.append(item)
            elif taken:
                # What came before the error is given first.
                self._items.appendleft(item)
                break
            else:
                raise item
        return taken


class Deliveries:
    """Which mailboxes have something that the event loop has not been told of."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Mailbox[object], bool] = {}

    def note(self, mailbox: Mailbox[T], *, urgent: bool) -> None:
        """Something was put; called by the engine's thread."""
        known = cast("Mailbox[object]", mailbox)
        self._waiting[known] = urgent or self._waiting.get(known, False)

    def flush(self, everything: bool = True) -> None:
        """Tell the event loop, in one call, of what is urgent or has gathered long enough, or of everything."""
        if not self._waiting:
            return
        now = monotonic()
        due = [
            mailbox
            for mailbox, urgent in self._waiting.items()
            if everything or urgent or now - mailbox.told >= GATHER_S
        ]
        if not due:
            return
        for mailbox in due:
            mailbox.told = now
            del self._waiting[mailbox]
        try:
            self._loop.call_soon_threadsafe(_wake, due)
        except RuntimeError:
            # A loop that has been closed meanwhile has nobody to be told.
            if not self._loop.is_closed():
                raise


def _wake(mailboxes: list[Mailbox[object]]) -> None:
    for mailbox in mailboxes:
        mailbox.wake()
