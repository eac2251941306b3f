"""Whom the current work is for, so that a client that asks for much takes no other client's place.

It travels with the context, from where requests come in to wherever something is shared out. Clients are distinguished
by tenant first, then by token, by address and by connection: a connection costs its owner nothing, an address does, and
tokens and tenants are given by the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TypeVar

_IPV6_PREFIX = 64
"""Bits of an IPv6 address that name a customer's network; the rest is the customer's own choice."""


@dataclass(frozen=True, slots=True)
class Client:
    """Whoever asks."""

    address: str = ""
    """An IPv4 address, the network of an IPv6 one, or the kind of a peer that has neither."""
    connection: str = ""
    """Its connection, among those of the address."""
    tenant: str = ""
    """Whose data it may see; empty: the server's own tenant, or not known yet."""
    token: str = ""
    """Name of its token; empty: it has none, or not known yet."""

    @property
    def owner(self) -> str:
        """Whom data that is kept of its requests belongs to, and is found by: its tenant at its address."""
        return f"{self.tenant}@{self.address}" if self.tenant else self.address

    @property
    def share(self) -> tuple[str, str, str]:
        """Among whom work is shared out: tenant, token, address."""
        return self.tenant, self.token, self.address


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
        self._by_level: Counter[tuple[object, ...]] = Counter()
        """By tenant, by tenant and token, by these and address, and by client; only those that hold some."""
        self._clients: Counter[Client] = Counter()

    def of(self, client: Client) -> tuple[int, ...]:
        """What a client's tenant holds, its token, its address and the client itself. Sorts clients by weight."""
        return tuple(self._by_level[level] for level in _levels(client))

    def of_tenant(self, tenant: str) -> int:
        """What a tenant's clients hold."""
        return self._by_level[tenant,]

    def of_share(self, client: Client) -> int:
        """What the clients of a client's tenant, token and address hold."""
        return self._by_level[client.share]

    def clients(self) -> Iterator[Client]:
        """Each client as often as it holds one."""
        return self._clients.elements()

    def add(self, client: Client, units: int = 1) -> None:
        """Note that a client holds more."""
        self.total += units
        self.by_address[client.address] += units
        self._clients[client] += units
        for level in _levels(client):
            self._by_level[level] += units

    def remove(self, client: Client, units: int = 1) -> None:
        """Note that a client holds less."""
        self.total -= units
        _take(self.by_address, client.address, units)
        _take(self._clients, client, units)
        for level in _levels(client):
            _take(self._by_level, level, units)

    def outweighs(self, client: Client, other: Client) -> bool:
        """Whether a client would still hold more than another one after passing a unit on to it."""
        return self.lead(client, other) > 1

    def lead(self, client: Client, other: Client) -> int:
        """How much more a client holds than another: of the first of tenant, token, address and connection in which
        they differ.
        """
        for ours, theirs in zip(_levels(client), _levels(other), strict=True):
            if ours != theirs:
                return self._by_level[ours] - self._by_level[theirs]
        return 0


def _levels(client: Client) -> tuple[tuple[object, ...], ...]:
    tenant, token, address = client.share
    return (tenant,), (tenant, token), (tenant, token, address), (tenant, token, address, client.connection)


Kind = TypeVar("Kind")


def _take(held: Counter[Kind], key: Kind, units: int) -> None:
    held[key] -= units
    if not held[key]:
        del held[key]
