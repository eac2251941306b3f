"""Shares the connections to gRPC's port out between addresses, and closes idle ones.

gRPC has one limit for all of them and closes what comes beyond, be it the first of its address. So it is given room for
more than there are to be; which those are is decided here: at the first call over a connection, and at a look at the
process's sockets now and then, since gRPC does not say that a connection has been opened. While nearly all that gRPC
has room for is taken, addresses that have their share open no more (`listeners`): what was closed would come again at
once, and take the place of others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from quizglass_server.errors import Overloaded
from quizglass_server.rpc.transport.listeners import Listeners
from quizglass_server.rpc.transport.sockets import Address, Sockets, address_of
from quizglass_server.scheduling.clients import Client, address_group
from quizglass_server.scheduling.places import Place, Places

LOOK_S, HURRIED_LOOK_S = 0.25, 0.05
"""Between two looks; the shorter while most places are taken."""
SILENT_S = 60.0
"""A connection over which no call has come is closed after so many seconds, though there is room."""
_REST_S = 10.0
"""An idle connection makes room for another of its address once it was idle for so long."""
_TOLD_S = 1.0
"""A connection that is one too many has so long to call and be told so, if there are few of these."""
_HELD_BACK_S = 60.0
"""An address opens no connections for so long, or until it has half of its share."""
_LOOK_SHARE = 0.05
"""Share of the time, at most, that is spent on looking."""
_UNHURRIED = 4.0
"""A look that a refusal asks for waits for so many times as long as the latest one took, and the refusal is given."""


@dataclass(eq=False, slots=True)
class _Connected:
    place: Place
    since: float
    calls: int = 0
    """Under way."""
    used: bool = False


class Connections:
    """Counts connections and the calls over them.

    Args:
        most: connections that there may be.
        spare: how many more gRPC accepts.
        sockets: where they are seen and closed.
        listeners: where they come in.
    """

    def __init__(self, most: int, spare: int, sockets: Sockets, listeners: Listeners) -> None:
        self._places = Places(most, "connections")
        self._told = spare // 2
        self._sockets = sockets
        self._listeners = listeners
        self._open: dict[Address, _Connected] = {}
        self._refused: dict[Address, float] = {}
        """Connections without a place, and when they were refused one."""
        self._held_back: dict[str, float] = {}
        """Addresses, and until when."""
        self._looked = self._took = 0.0
        """When the latest look ended, and how long it took."""

    @contextmanager
    def used(self, peer: str) -> Iterator[None]:
        """Count a call over a connection.

        Raises:
            Overloaded: the connection is one too many. It is closed a moment later.
        """
        address = address_of(peer)
        if address is None:
            yield
            return
        connected = self._open.get(address) or self._opened(address)
        connected.calls += 1
        connected.used = True
        connected.place.busy()
        try:
            yield
        finally:
            connected.calls -= 1
            if not connected.calls:
                connected.place.idle(partial(self._close, address), _REST_S)

    async def watch(self) -> None:
        """Look at what there is until cancelled."""
        while True:
            self._look()
            least = HURRIED_LOOK_S if 2 * len(self._places) > self._places.most else LOOK_S
            await asyncio.sleep(max(least, self._took / _LOOK_SHARE))

    def _opened(self, address: Address) -> _Connected:
        try:
            return self._take(address)
        except Overloaded:
            self._refused[address] = time.monotonic()
            if time.monotonic() - self._looked < _UNHURRIED * self._took:
                raise
        self._look()  # places of those that are gone may be free
        return self._take(address)

    def _take(self, address: Address) -> _Connected:
        client = Client(address_group(address[0]), f"{address[0]} {address[1]}")
        connected = self._open[address] = _Connected(self._places.take(client), time.monotonic())
        self._refused.pop(address, None)
        return connected

    def _look(self) -> None:
        now = time.monotonic()
        there = self._sockets.look()
        for address in self._open.keys() - there:
            self._open.pop(address).place.release()
        self._settle(there - self._open.keys(), now)
        for address, connected in list(self._open.items()):
            if not connected.used and now - connected.since > SILENT_S:
                self._close(address)
        self._hold_back(there, now)
        self._looked = time.monotonic()
        self._took = self._looked - now

    def _settle(self, came: Iterable[Address], now: float) -> None:
        """Give connections that have come a place, or close them."""
        refused, self._refused = self._refused, {}
        for address in came:
            try:
                self._take(address).place.idle(partial(self._close, address), _REST_S)
            except Overloaded:
                since = refused.get(address, now)
                if now - since < _TOLD_S and len(self._refused) < self._told:
                    self._refused[address] = since
                else:
                    self._sockets.close_at(address)

    def _hold_back(self, there: Collection[Address], now: float) -> None:
        """While there is hardly room for others, accept none of addresses that have their share."""
        if len(there) > self._places.most + self._told:
            groups = {address_group(host) for host, _ in there}
            full = [group for group in groups if self._places.full_for(Client(group))]
            self._held_back |= dict.fromkeys(full, now + _HELD_BACK_S)
        for group in [group for group, until in self._held_back.items() if until <= now or self._is_few(group)]:
            del self._held_back[group]
        self._listeners.hold_back(self._held_back)

    def _is_few(self, group: str) -> bool:
        return self._places.has_ample_room(Client(group))

    def _close(self, address: Address) -> None:
        connected = self._open.pop(address, None)
        if connected is not None:
            connected.place.release()
        self._sockets.close_at(address)
