"""What the system knows of clients' connections: which there are, how much has come in, and how to close one.

gRPC says neither. A connection is named by its peer, as a call's context has it: "ipv4:127.0.0.1:50123". Where the
system does not count bytes (anything but Linux), nothing is known of a connection, and it can still be closed.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from urllib.parse import unquote

from quizglass.hosts import host_and_port

_DESCRIPTORS = "/dev/fd"
# Of Linux's `struct tcp_info`: the field tcpi_bytes_received, which is there since 4.1.
_RECEIVED = struct.Struct("=128xQ")

Address = tuple[str, int]


class Sockets:
    """Finds the socket of a peer among this process's descriptors, and remembers where it was.

    `port` is the one that clients connect to; 0: whichever.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._places: dict[Address, int] = {}
        self._seen: dict[int, tuple[int, Address | None]] = {}
        """The number that the system gave what was behind each descriptor, and the peer, if it is one's socket."""

    def look(self) -> Collection[Address]:
        """The peers that are connected now, also those that never called; costs some microseconds a descriptor."""
        seen: dict[int, tuple[int, Address | None]] = {}
        with suppress(OSError):  # no such directory, or no descriptor left to read it with
            for descriptor in map(int, os.listdir(_DESCRIPTORS)):  # noqa: PTH208  # a path a descriptor takes long
                with suppress(OSError):  # closed meanwhile
                    status = os.fstat(descriptor)
                    if stat.S_ISSOCK(status.st_mode):
                        known = self._seen.get(descriptor)
                        if known is None or known[0] != status.st_ino:
                            known = status.st_ino, self._peer(descriptor)
                        seen[descriptor] = known
        self._seen = seen
        self._places = {peer: descriptor for descriptor, (_, peer) in seen.items() if peer is not None}
        return self._places.keys()

    def received(self, peers: Iterable[str]) -> dict[str, int]:
        """Bytes that each connection has received since it was opened; those that are unknown or gone are left out."""
        counts = {peer: self._bytes(peer) for peer in peers}
        if None in counts.values():
            self.look()
            counts = {peer: self._bytes(peer) if count is None else count for peer, count in counts.items()}
        return {peer: count for peer, count in counts.items() if count is not None}

    def close(self, peer: str) -> bool:
        """End a connection with every call on it; whether it was there."""
        return self.close_at(address_of(peer))

    def close_at(self, address: Address | None) -> bool:
        """The same by the peer's address."""
        for _ in range(2):
            with self._opened(address) as there:
                if there is not None:
                    with suppress(OSError):  # the client was first
                        there.shutdown(socket.SHUT_RDWR)
                    return True
            self.look()
        return False

    def _bytes(self, peer: str) -> int | None:
        if not hasattr(socket, "TCP_INFO"):
            return None
        with self._opened(address_of(peer)) as there:
            if there is None:
                return None
            info = there.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
        return int(_RECEIVED.unpack(info)[0]) if len(info) == _RECEIVED.size else None

    @contextmanager
    def _opened(self, address: Address | None) -> Iterator[socket.socket | None]:
        """A peer's socket. It is a duplicate: its number may meanwhile belong to another."""
        place = self._places.get(address) if address else None
        copy = _copy(place) if place is not None else None
        if copy is None:
            yield None
            return
        with copy:
            yield copy if self._remote(copy) == address else None

    def _peer(self, descriptor: int) -> Address | None:
        """Whose socket a descriptor is. It is not duplicated: there may be no descriptor left."""
        there = socket.socket(fileno=descriptor)
        try:
            return self._remote(there)
        finally:
            there.detach()

    def _remote(self, there: socket.socket) -> Address | None:
        if there.family not in (socket.AF_INET, socket.AF_INET6):
            return None
        try:
            if self.port and there.getsockname()[1] != self.port:
                return None
            host, port = there.getpeername()[:2]
        except OSError:  # it listens, or is gone
            return None
        return _plain(host, port)


@lru_cache(4096)
def address_of(peer: str) -> Address | None:
    """Host and port of a peer; None for one that has neither."""
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    return _plain(host.strip("[]"), int(port))


def name_of(peer: str) -> str:
    """A peer as address:port, "127.0.0.1:50123" or "[::1]:50123"; as it is where it has neither."""
    address = address_of(peer)
    return peer if address is None else host_and_port(*address)


def _plain(host: str, port: int) -> Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped), port
    return str(address), port


def _copy(descriptor: int) -> socket.socket | None:
    try:
        number = os.dup(descriptor)
    except OSError:
        return None
    try:
        return socket.socket(fileno=number)
    except OSError:  # no socket
        os.close(number)
        return None
