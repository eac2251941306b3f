"""Bounded admission: a permit now, a place in a short queue, or a refusal at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from math import inf

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.allowances import check_allowances, counted_turn
from quizglass_server.scheduling.clients import Client, Holdings, current_client
from quizglass_server.scheduling.places import may_take
from quizglass_server.scheduling.priority import Priority, at_priority, current_priority, held_by

_WEIGHT = 0.25
_HELD_S = 0.25
"""Longest that a step waits for turns of clients that have fewer. Shorter slows those; longer starves who waits."""
_LINGER_S = 0.1
"""A client that has just been answered may ask on: so long it counts as one that has a turn."""
_SHORTEST_WAIT_S, _LONGEST_WAIT_S, _FIRST_WAIT_S = 0.05, 30.0, 1.0


class Admission:
    """Lets `limit` turns run and `queue` more wait. The next is of the tenant that has fewest running, there of the
    token, of the address and of the connection that has fewest; of equal ones, of who has waited longest. In a full
    queue a client that has fewer turns takes the place of the latest turn of the one that has most, which is refused.
    No address runs all turns (`may_take`): of 8 the eighth is kept for one that has none. Where there are tenants, no
    tenant does. Engines do the work of those that have fewer running than others first (`Priority.AHEAD`); turns of
    those that have at least two more wait a little before each of their steps, and compute behind (`Priority.BEHIND`).

    Used as `async with admission.admit():` by every turn and search. A waiter that is cancelled leaves the queue at
    once, so abandoned work never reaches an engine.

    Args:
        limit: turns that run at once.
        queue: turns that wait beyond that.
        tenants: whether there may be several tenants.

    Raises:
        ValueError: `limit` is under 1 or `queue` under 0.
    """

    def __init__(self, limit: int, queue: int, *, tenants: bool = False) -> None:
        if limit < 1 or queue < 0:
            raise ValueError(f"admission needs a limit of 1 or more and a queue of 0 or more, not {limit} and {queue}")
        self._limit = limit
        self._queue = queue
        self._tenants = tenants
        self._running = Holdings()
        self._waiters: deque[tuple[Client, asyncio.Future[None]]] = deque()
        self._interval_s = _FIRST_WAIT_S
        self._full_since = 0.0
        """When the last permit was taken that its client could have, or the last one passed to a waiting turn."""
        self._lately: dict[tuple[str, str, str], tuple[Client, float]] = {}
        """Whose turns have just ended, by share, and the monotonic seconds until when that counts."""
        self._ended = asyncio.Event()
        """Set when a turn ends; the next one's is another."""
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running(self) -> int:
        """Turns that hold a permit."""
        return self._running.total

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
            QuotaExceeded: the caller's tenant or token may begin no other turn now.
        """
        client = current_client()
        with counted_turn():
            await self._acquire(client)
            try:
                outer = current_priority()
                with at_priority(lambda: self._priority(client, outer)), held_by(partial(self._let_pass, client)):
                    yield
            finally:
                self._learn(client)
                self._release(client)

    async def idle(self) -> None:
        """Wait until no turn holds a permit."""
        while self.running:  # one that was woken by the same moment may have taken it
            await self._idle.wait()

    def check_room(self) -> None:
        """Look, without taking anything, whether `admit` would refuse the current client at once.

        Raises:
            Overloaded, QuotaExceeded: as `admit`.
        """
        check_allowances()
        client = current_client()
        if not self._may_run(client) and self._full and self._giving_way(client) is None:
            raise self._overloaded()

    async def _acquire(self, client: Client) -> None:
        if self._may_run(client):
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

    def _may_run(self, client: Client) -> bool:
        running, free = self._running, self._limit - self.running
        if self._tenants and not may_take(running.of_tenant(client.tenant), free):
            return False
        return may_take(running.of_share(client), free)

    def _priority(self, client: Client, usual: Priority) -> Priority:
        """Of a running turn, beside those of other tenants, of the same tenant's other tokens, of their addresses."""
        others = tuple(self._others(client))
        if any(self._running.lead(other, client) > 0 for other in others):
            return Priority.AHEAD
        return Priority.BEHIND if any(self._running.outweighs(client, other) for other in others) else usual

    def _others(self, client: Client) -> Iterable[Client]:
        """One client of each other share that runs turns."""
        return {each.share: each for each in self._running.clients() if each.share != client.share}.values()

    async def _let_pass(self, client: Client, most_s: float) -> None:
        """Wait while turns of clients that have fewer run, or have just ended."""
        until = time.monotonic() + min(_HELD_S, most_s)
        while (left_s := min(until, self._others_until(client)) - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._ended.wait()

    def _others_until(self, client: Client) -> float:
        """Monotonic seconds until when a client's turns wait for those that have fewer; infinite while such run."""
        if any(self._running.outweighs(client, other) for other in self._others(client)):
            return inf
        lately = [each for share, each in self._lately.items() if share != client.share]
        return max((at for other, at in lately if self._running.outweighs(client, other)), default=0.0)

    @property
    def _full(self) -> bool:
        """Whether no more may wait."""
        return len(self._waiters) >= self._queue

    def _giving_way(self, client: Client) -> tuple[Client, asyncio.Future[None]] | None:
        """Whose place in the queue a client may take: the latest of whoever has most, if not less than it then."""
        held = Holdings()
        for each in (*self._running.clients(), *(waiting for waiting, _ in self._waiters)):
            held.add(each)
        place = max(reversed(self._waiters), key=lambda place: held.of(place[0]), default=None)
        return None if place is None or not held.outweighs(place[0], client) else place

    def _make_room(self, client: Client) -> None:
        """Free a place in the full queue for a client; Overloaded if none gives way."""
        place = self._giving_way(client)
        if place is None:
            raise self._overloaded()
        self._waiters.remove(place)
        if not place[1].done():
            place[1].set_exception(self._overloaded())

    def _overloaded(self) -> Overloaded:
        told = "there is no room for another turn or search, nor in the queue; try again later"
        return Overloaded(told, retry_after_s=self._retry_after())

    def _take(self, client: Client) -> None:
        self._running.add(client)
        self._idle.clear()
        if not self._may_run(client):
            self._full_since = time.monotonic()

    def _release(self, client: Client) -> None:
        self._running.remove(client)
        self._note_end(client)
        while (place := self._next()) is not None:
            following, waiter = place
            self._waiters.remove(place)
            if not waiter.done():
                self._take(following)
                waiter.set_result(None)
        if not self.running:
            self._idle.set()

    def _note_end(self, client: Client) -> None:
        now = time.monotonic()
        self._lately = {share: each for share, each in self._lately.items() if each[1] > now}
        self._lately[client.share] = client, now + _LINGER_S
        self._ended.set()
        self._ended = asyncio.Event()

    def _next(self) -> tuple[Client, asyncio.Future[None]] | None:
        """Whose place in the queue is next, of those that may run or have left."""
        may = (place for place in self._waiters if place[1].done() or self._may_run(place[0]))
        return min(may, key=lambda place: self._running.of(place[0]), default=None)

    def _learn(self, client: Client) -> None:
        """Mean time until a permit comes back while all that a client may have are taken."""
        if not self._may_run(client):
            self._interval_s += _WEIGHT * (time.monotonic() - self._full_since - self._interval_s)

    def _retry_after(self) -> float:
        return min(max(self._interval_s * (len(self._waiters) + 1), _SHORTEST_WAIT_S), _LONGEST_WAIT_S)
