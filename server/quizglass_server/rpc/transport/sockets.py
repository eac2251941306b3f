"""What the system knows of clients' connections: how much has come in, and how to close one.

gRPC says neither. A connection is named by its peer, as a call's context has it: "ipv4:127.0.0.1:50123". Where the
system does not count bytes (anything but Linux), nothing is known of a connection, and it can still be closed.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from urllib.parse import unquote

_DESCRIPTORS = Path("/dev/fd")
# Of Linux's `struct tcp_info`: the field tcpi_bytes_received, which is there since 4.1.
_RECEIVED = struct.Struct("=128xQ")

Address = tuple[str, int]


class Sockets:
    """Finds the socket of a peer among this process's descriptors, and remembers where it was."""

    def __init__(self) -> None:
        self._places: dict[Address, int] = {}

    def received(self, peers: Iterable[str]) -> dict[str, int]:
        """Bytes that each connection has received since it was opened; those that are unknown or gone are left out."""
        counts = {peer: self._bytes(peer) for peer in peers}
        if None in counts.values():
            self._look()
            counts = {peer: self._bytes(peer) if count is None else count for peer, count in counts.items()}
        return {peer: count for peer, count in counts.items() if count is not None}

    def close(self, peer: str) -> bool:
        """End a connection with every call on it; whether it was there."""
        for _ in range(2):
            with self._opened(peer) as there:
                if there is not None:
                    with suppress(OSError):  # the client was first
                        there.shutdown(socket.SHUT_RDWR)
                    return True
            self._look()
        return False

    def _bytes(self, peer: str) -> int | None:
        if not hasattr(socket, "TCP_INFO"):
            return None
        with self._opened(peer) as there:
            if there is None:
                return None
            info = there.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
        return int(_RECEIVED.unpack(info)[0]) if len(info) == _RECEIVED.size else None

    @contextmanager
    def _opened(self, peer: str) -> Iterator[socket.socket | None]:
        """The peer's socket. It is a duplicate: its number may meanwhile belong to another."""
        address = address_of(peer)
        place = self._places.get(address) if address else None
        copy = _copy(place) if place is not None else None
        if copy is None:
            yield None
            return
        with copy:
            yield copy if _remote(copy) == address else None

    def _look(self) -> None:
        self._places = {}
        with suppress(OSError):  # no such directory, or no descriptor left to read it with
            for place in map(int, (each.name for each in _DESCRIPTORS.iterdir())):
                copy = _copy(place)
                if copy is not None:
                    with copy:
                        remote = _remote(copy)
                    if remote is not None:
                        self._places[remote] = place


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
    if address is None:
        return peer
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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


def _remote(there: socket.socket) -> Address | None:
    if there.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    try:
        host, port = there.getpeername()[:2]
    except OSError:  # it listens, or is gone
        return None
    return _plain(host, port)
