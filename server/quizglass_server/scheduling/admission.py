"""Bounded admission: a permit now, a place in a short queue, or a refusal at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from quizglass_server.errors import Overloaded

_WEIGHT = 0.25
_SHORTEST_WAIT_S, _LONGEST_WAIT_S, _FIRST_WAIT_S = 0.05, 30.0, 1.0


class Admission:
    """Lets `limit` turns run and `queue` more wait, first come, first served.

    Used as `async with admission.admit():` by every turn and search. A waiter that is cancelled leaves the queue at
    once, so abandoned work never reaches an engine.

    Raises:
        ValueError: `limit` is under 1 or `queue` under 0.
    """

    def __init__(self, limit: int, queue: int) -> None:
        if limit < 1 or queue < 0:
            raise ValueError(f"admission needs a limit of 1 or more and a queue of 0 or more, not {limit} and {queue}")
        self._limit = limit
        self._queue = queue
        self._running = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._interval_s = _FIRST_WAIT_S
        self._last_end: float | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running(self) -> int:
        """Turns that hold a permit."""
        return self._running

    @property
    def waiting(self) -> int:
        """Turns in the queue."""
        return len(self._waiters)

    @asynccontextmanager
    async def admit(self) -> AsyncGenerator[None, None]:
        """Hold a permit for the block, after waiting for one if need be.

        Raises:
            Overloaded: the queue is full; `retry_after_s` seconds from now a place should be free.
        """
        await self._acquire()
        try:
            yield
        finally:
            self._learn()
            self._release()

    async def idle(self) -> None:
        """Wait until no turn holds a permit."""
        await self._idle.wait()

    def check_room(self) -> None:
        """Look, without taking anything, whether `admit` would refuse at once.

        Raises:
            Overloaded: as `admit`.
        """
        if self._running >= self._limit and len(self._waiters) >= self._queue:
            raise Overloaded(
                f"{self._running} turns and searches are running and {len(self._waiters)} waiting; try again later",
                retry_after_s=self._retry_after(),
            )

    async def _acquire(self) -> None:
        self.check_room()
        if self._running < self._limit:
            self._running += 1
            self._idle.clear()
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._release()  # the permit came in the same moment: pass it on
            else:
                with suppress(ValueError):  # already popped as done
                    self._waiters.remove(waiter)
            raise

    def _release(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)  # the permit changes hands: `_running` stays
                return
        self._running -= 1
        if not self._running:
            self._idle.set()

    def _learn(self) -> None:
        """Mean time between two ends while all permits are taken: how soon a place becomes free."""
        now = time.monotonic()
        if self._last_end is not None and self._running == self._limit:
            self._interval_s += _WEIGHT * (now - self._last_end - self._interval_s)
        self._last_end = now if self._running == self._limit else None

    def _retry_after(self) -> float:
        return min(max(self._interval_s * (len(self._waiters) + 1), _SHORTEST_WAIT_S), _LONGEST_WAIT_S)
