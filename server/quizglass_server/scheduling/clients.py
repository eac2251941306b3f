"""Whom the current work is for, so that a client that asks for much takes no other client's place.

It travels with the context, from where requests come in to wherever something is shared out. Clients are distinguished
by address first and by connection second: a connection costs its owner nothing, an address does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address

_IPV6_PREFIX = 64
"""Bits of an IPv6 address that name a customer's network; the rest is the customer's own choice."""


@dataclass(frozen=True, slots=True)
class Client:
    """Whoever asks."""

    address: str = ""
    """An IPv4 address, the network of an IPv6 one, or the kind of a peer that has neither."""
    connection: str = ""
    """Its connection, among those of the address."""


_OWN = Client()
_client: ContextVar[Client] = ContextVar("client", default=_OWN)


def address_group(host: str) -> str:
    """The address under which a host is counted: IPv4 as it is, IPv6 by its /64; any other word stands for itself."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address), _IPV6_PREFIX), strict=False))


def current_client() -> Client:
    """The client that the current work is for; one without address or connection where the work is the server's own."""
    return _client.get()


@contextmanager
def asked_by(client: Client) -> Iterator[None]:
    """Do the block's work for this client."""
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


class Holdings:
    """How many units of something each client holds: places, messages, bytes."""

    def __init__(self) -> None:
        self.total = 0
        self.by_address: Counter[str] = Counter()
        """Only addresses that hold some."""
        self._by_client: Counter[Client] = Counter()

    def of(self, client: Client) -> tuple[int, int]:
        """What a client's address holds, and what the client itself does. Sorts clients by weight."""
        return self.by_address[client.address], self._by_client[client]

    def clients(self) -> Iterator[Client]:
        """Each client as often as it holds one."""
        return self._by_client.elements()

    def add(self, client: Client, units: int = 1) -> None:
        """Note that a client holds more."""
        self.total += units
        self.by_address[client.address] += units
        self._by_client[client] += units

    def remove(self, client: Client, units: int = 1) -> None:
        """Note that a client holds less."""
        self.total -= units
        self.by_address[client.address] -= units
        if not self.by_address[client.address]:
            del self.by_address[client.address]
        self._by_client[client] -= units
        if not self._by_client[client]:
            del self._by_client[client]

    def outweighs(self, client: Client, other: Client) -> bool:
        """Whether a client would still hold more than another one after passing a unit on to it."""
        (ours, own), (theirs, their_own) = self.of(client), self.of(other)
        return own > their_own + 1 if client.address == other.address else ours > theirs + 1
