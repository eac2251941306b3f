"""Counts the descriptors that the system grants this process, and what they leave for clients' connections."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from quizglass_server.errors import SettingsError

RESERVE = 128
"""Descriptors kept back for what a server opens while it runs: files of the store, another generator process."""
_MOST_CONNECTIONS = 1024
_ENOUGH = 65_536


def raise_limit() -> int:
    """Have as many descriptors as the system allows without asking anybody; how many that is."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _ENOUGH
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    wanted = _ENOUGH if hard == endless else min(hard, _ENOUGH)
    if soft != endless and soft < wanted:
        with suppress(OSError, ValueError):  # macOS allows fewer than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _ENOUGH if soft == endless else soft


def connections_allowed(wanted: int) -> int:
    """Connections that clients may have open at once.

    Args:
        wanted: how many there should be; 0 for as many as make sense.

    Raises:
        SettingsError: there are no descriptors for so many, or for any.
    """
    limit = raise_limit()
    room = limit - _open_now() - RESERVE
    if room < max(wanted, 1):
        raise SettingsError(
            f"max_connections: of the {limit} descriptors that this process may have, {max(room, 0)} are left for "
            f"connections; allow more (ulimit -n, or LimitNOFILE= of systemd)"
        )
    return wanted or min(room, _MOST_CONNECTIONS)


def _open_now() -> int:
    try:
        return sum(1 for _ in Path("/dev/fd").iterdir())
    except OSError:
        return RESERVE
