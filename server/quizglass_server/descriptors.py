"""File descriptors of this process: how many there may be, how many are left, and some kept for what must not fail.

A connection takes one, and a client can open as many as it likes. Whoever admits connections asks `for_connections`;
whoever must be able to open something even then keeps a `Reserve`.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from quizglass_server.errors import SettingsError

OWN = 128
"""Left to the server itself: a generator process (4, and 12 in reserve for its restart), models while they are loaded,
the files of the knowledge store and its snapshots, connections to a Milvus."""
_UNKNOWN_USE = 64
_ENOUGH = 65_536
_MOST_CONNECTIONS, MOST_WEB_CONNECTIONS = 1024, 512
_DIRECTORIES = ("/proc/self/fd", "/dev/fd")


def raise_limit() -> int:
    """Allow this process as many descriptors as its user may have, up to enough for any server; how many that are.

    The usual limit of 1,024 is for programs that call select(2), which the server does not.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # macOS allows fewer than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return limit()


def limit() -> int:
    """Most descriptors that this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft


def in_use() -> int:
    """Descriptors that this process has open now."""
    for directory in _DIRECTORIES:
        with suppress(OSError):
            # One of them is the directory's own. Path.iterdir would be no better.
            return len(os.listdir(directory)) - 1  # noqa: PTH208
    return min(_UNKNOWN_USE, limit())


def for_connections() -> int:
    """How many connections may be open beside what the server has open now and needs itself; 0: there is no room."""
    return max(0, limit() - in_use() - OWN)


def connections_allowed(wanted: int) -> int:
    """Connections that clients may have open at once.

    Args:
        wanted: how many there should be; 0 for as many as make sense.

    Raises:
        SettingsError: there are no descriptors for so many, or for any.
    """
    room = for_connections()
    if room < max(wanted, 1):
        raise SettingsError(
            f"max_connections: of the {limit()} descriptors that this process may have, {room} are left for "
            f"connections; allow more (ulimit -n, or LimitNOFILE= of systemd)"
        )
    return wanted or min(room, _MOST_CONNECTIONS)


@dataclass(frozen=True, slots=True)
class ConnectionRoom:
    """How the descriptors for connections are shared out."""

    rpc: int
    """Connections of gRPC that there are to be."""
    rpc_open: int
    """Those that gRPC itself accepts: more, so that there is room for one that comes before an idle one was closed."""
    web: int
    """Connections of HTTP."""


def connection_room(wanted: int, *, web: bool) -> ConnectionRoom:
    """Share out the descriptors.

    Args:
        wanted: connections of gRPC that there should be; 0 for as many as make sense.
        web: whether HTTP is served, which gets no more than a third of the room.

    Raises:
        SettingsError: as `connections_allowed`.
    """
    allowed = connections_allowed(wanted)
    room = for_connections()
    for_web = min(MOST_WEB_CONNECTIONS, room // 3) if web else 0
    room -= for_web * 9 // 8  # some get no place, and a refusal
    rpc = min(allowed, room) if wanted else max(1, min(allowed, room * 3 // 4))
    return ConnectionRoom(rpc, min(2 * rpc, max(rpc, room)), for_web)


class Reserve:
    """Descriptors that are held open for nothing, and given up for a moment when something has to be opened.

    Another thread may take what was given up before it is used: then the user of the reserve fails as it would have
    without one, and tries again.

    Args:
        count: how many to hold.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._held: list[int] = []

    def fill(self) -> bool:
        """Hold as many as there are to be had, up to the whole reserve; whether it is whole."""
        with suppress(OSError):
            while len(self._held) < self._count:
                self._held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        return len(self._held) == self._count

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Let the body have the reserve; what it closes again, and what else is free by then, is held anew."""
        self.empty()
        try:
            yield
        finally:
            self.fill()

    def empty(self) -> None:
        """Hold none."""
        while self._held:
            os.close(self._held.pop())
