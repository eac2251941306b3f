"""A bounded number of places, of which no address takes all, and which idle clients give up to others."""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.clients import Client, Holdings

_TIMES_FREE = 7
_RETRY_S = 1.0


def may_take(held: int, free: int, units: int = 1) -> bool:
    """Whether an address that holds so many units may take more while so many are free.

    It may hold up to seven times what is left: alone seven eighths of all, as one of two equal ones seven fifteenths.
    So there is room for whoever comes next, without a reserve that is never used. (The dynamic threshold of Choudhury
    and Hahne, 1998, by which switches share their buffers.)
    """
    return units <= free and held + units <= _TIMES_FREE * free


class Place:
    """One place that a client holds."""

    def __init__(self, places: Places, client: Client) -> None:
        self._places = places
        self.client = client
        """Who holds it."""
        self.idle_since: float | None = None
        """Monotonic seconds; None: it is in use."""
        self.give_way: Callable[[], None] | None = None
        """Ends whatever takes the place; None: it is in use, and stays."""
        self.rested_at = 0.0
        self.released = False

    def idle(self, give_way: Callable[[], None], rest_s: float) -> None:
        """Say that the place may go to another client from now on.

        Args:
            give_way: called when the place went to another client.
            rest_s: seconds from now until it may also go to one of the same address, over a connection that has no
                fewer.
        """
        if not self.released:
            self._places.rest(self, give_way, rest_s)

    def busy(self) -> None:
        """Say that the place is in use."""
        if not self.released:
            self._places.wake(self)

    def release(self) -> None:
        """Give the place back; again, or after it went to another client, this does nothing."""
        if not self.released:
            self._places.release(self)

    def move(self, client: Client) -> None:
        """Hold the place for another client.

        Raises:
            Overloaded: that one may hold no more; nothing has changed.
        """
        if client != self.client and not self.released:
            self._places.move(self, client)


class Places:
    """Places of one kind, shared between addresses (`may_take`).

    A client that may not take one takes an idle one of another client: of the address that holds most, if that is more
    than its own would then be, else of its own; there of the connection that holds most; there the one that has been
    idle for longest.

    Args:
        most: how many there are.
        what: their name, in the plural, for errors.
    """

    def __init__(self, most: int, what: str) -> None:
        self.most = most
        self._what = what
        self._held = Holdings()
        self._idle: dict[str, OrderedDict[Place, None]] = defaultdict(OrderedDict)
        """Idle places by address, the one that has been idle for longest first."""

    def __len__(self) -> int:
        """How many are taken."""
        return self._held.total

    def has_room(self, client: Client) -> bool:
        """Whether a client may take a place and no other has to give way."""
        return may_take(self._held.by_address[client.address], self.most - self._held.total)

    def full_for(self, client: Client) -> bool:
        """Whether a client gets no place but at the expense of its own address."""
        return not self.has_room(client) and self._elsewhere(client) is None

    def has_ample_room(self, client: Client) -> bool:
        """Whether a client's address could take as many places again as it holds."""
        held = self._held.by_address[client.address]
        return may_take(held, self.most - self._held.total, held)

    def take(self, client: Client) -> Place:
        """A place, which is in use until its holder says that it is idle.

        Raises:
            Overloaded: the client may hold no more, and no other gives way to it.
        """
        self._make_room(client)
        self._held.add(client)
        return Place(self, client)

    def move(self, place: Place, client: Client) -> None:
        """See `Place.move`."""
        give_way, rest_s = place.give_way, place.rested_at - time.monotonic()
        self.wake(place)
        self._held.remove(place.client)
        try:
            self._make_room(client)
            place.client = client
        finally:
            self._held.add(place.client)
            if give_way is not None:
                self.rest(place, give_way, rest_s)

    def rest(self, place: Place, give_way: Callable[[], None], rest_s: float) -> None:
        """See `Place.idle`."""
        self.wake(place)
        place.give_way, place.idle_since = give_way, time.monotonic()
        place.rested_at = place.idle_since + rest_s
        self._idle[place.client.address][place] = None

    def wake(self, place: Place) -> None:
        """See `Place.busy`."""
        place.give_way = place.idle_since = None
        if (idle := self._idle.get(place.client.address)) is not None:
            idle.pop(place, None)
            if not idle:
                del self._idle[place.client.address]

    def release(self, place: Place) -> None:
        """See `Place.release`."""
        self.wake(place)
        place.released = True
        self._held.remove(place.client)

    def _make_room(self, client: Client) -> None:
        """See to it that there is a place for a client; Overloaded where there is none."""
        if self.has_room(client):
            return
        leaving = self._giving_way(client)
        if leaving is None:
            raise self._overloaded(client)
        give_way = leaving.give_way
        self.release(leaving)
        if give_way is not None:
            give_way()

    def _giving_way(self, client: Client) -> Place | None:
        """The place that a client may take."""
        if (place := self._elsewhere(client)) is not None:
            return place
        now = time.monotonic()
        return self._first(
            place
            for place in self._idle.get(client.address, ())
            if place.rested_at <= now or self._held.outweighs(place.client, client)
        )

    def _elsewhere(self, client: Client) -> Place | None:
        """The place of another address that a client may take."""
        held = self._held.by_address
        heaviest = max(self._idle.keys() - {client.address}, key=held.__getitem__, default=None)
        if heaviest is None or held[heaviest] <= held[client.address] + 1:
            return None
        return self._first(self._idle[heaviest])

    def _first(self, idle: Iterable[Place]) -> Place | None:
        """Which of the idle places of an address gives way first."""
        return max(idle, key=lambda place: self._held.of(place.client)[-1], default=None)

    def _overloaded(self, client: Client) -> Overloaded:
        own = self._held.by_address[client.address]
        return Overloaded(
            f"your address has {own} of the {self.most} {self._what}, and none is free for it or can make room; end "
            f"some of yours, or try again later",
            _RETRY_S,
        )
