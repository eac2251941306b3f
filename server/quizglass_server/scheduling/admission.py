"""Bounded admission: a permit now, a place in a short queue, or a refusal at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.clients import current_client

_WEIGHT = 0.25
_SHORTEST_WAIT_S, _LONGEST_WAIT_S, _FIRST_WAIT_S = 0.05, 30.0, 1.0


class Admission:
    """Lets `limit` turns run and `queue` more wait. The next is of the client that has fewest running, its oldest one;
    of clients that have equally many, who has waited longest. In a full queue a client that has fewer turns takes the
    place of the latest turn of the one that has most, which is refused.

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
        self._running = Counter[str]()
        """Turns by their client (`scheduling.clients`)."""
        self._waiters: deque[tuple[str, asyncio.Future[None]]] = deque()
        self._interval_s = _FIRST_WAIT_S
        self._full_since = 0.0
        """When the last free permit was taken, or the last one passed to a waiting turn."""
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running(self) -> int:
        """Turns that hold a permit."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """Turns in the queue."""
        return len(self._waiters)

    @asynccontextmanager
    async def admit(self) -> AsyncGenerator[None, None]:
        """Hold a permit for the block, after waiting for one if need be.

        Raises:
            Overloaded: the queue is full, or its place went to a client that has fewer turns; `retry_after_s` seconds
                from now a place should be free.
        """
        client = current_client()
        await self._acquire(client)
        try:
            yield
        finally:
            self._learn()
            self._release(client)

    async def idle(self) -> None:
        """Wait until no turn holds a permit."""
        while self._running:  # one that was woken by the same moment may have taken it
            await self._idle.wait()

    def check_room(self) -> None:
        """Look, without taking anything, whether `admit` would refuse the current client at once.

        Raises:
            Overloaded: as `admit`.
        """
        if self._full and self._giving_way(current_client()) is None:
            raise self._overloaded()

    async def _acquire(self, client: str) -> None:
        if self.running < self._limit:
            self._take(client)
            return
        if self._full:
            self._make_room(client)
        waiter = asyncio.get_running_loop().create_future()
        place = (client, waiter)
        self._waiters.append(place)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._release(client)  # the permit came in the same moment: pass it on
            else:
                with suppress(ValueError):  # already taken out as done
                    self._waiters.remove(place)
            raise

    @property
    def _full(self) -> bool:
        return self.running >= self._limit and len(self._waiters) >= self._queue

    def _giving_way(self, client: str) -> tuple[str, asyncio.Future[None]] | None:
        """Whose place in the queue a client may take: the latest of whoever has most, if not less than it then."""
        held = self._running + Counter(waiting for waiting, _ in self._waiters)
        place = max(reversed(self._waiters), key=lambda place: held[place[0]], default=None)
        return None if place is None or held[place[0]] <= held[client] + 1 else place

    def _make_room(self, client: str) -> None:
        """Free a place in the full queue for a client; Overloaded where nobody gives way."""
        place = self._giving_way(client)
        if place is None:
            raise self._overloaded()
        self._waiters.remove(place)
        if not place[1].done():
            place[1].set_exception(self._overloaded())

    def _overloaded(self) -> Overloaded:
        return Overloaded(
            f"{self.running} turns and searches are running and {len(self._waiters)} waiting; try again later",
            retry_after_s=self._retry_after(),
        )

    def _take(self, client: str) -> None:
        self._running[client] += 1
        self._idle.clear()
        if self.running == self._limit:
            self._full_since = time.monotonic()

    def _release(self, client: str) -> None:
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        while self._waiters:
            place = min(self._waiters, key=lambda place: self._running[place[0]])
            self._waiters.remove(place)
            following, waiter = place
            if not waiter.done():
                self._take(following)
                waiter.set_result(None)
                return
        if not self._running:
            self._idle.set()

    def _learn(self) -> None:
        """Mean time until a permit comes back while all are taken: how soon a place becomes free."""
        if self.running == self._limit:
            self._interval_s += _WEIGHT * (time.monotonic() - self._full_since - self._interval_s)

    def _retry_after(self) -> float:
        return min(max(self._interval_s * (len(self._waiters) + 1), _SHORTEST_WAIT_S), _LONGEST_WAIT_S)
