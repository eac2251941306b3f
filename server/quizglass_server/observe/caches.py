"""What caches hold, in bytes: the part of a server's memory that grows with what it is asked."""

from __future__ import annotations

from threading import Lock
from typing import Protocol
from weakref import WeakSet

KINDS = ("pictures", "forms", "rows", "answers")
"""Pictures that were decoded, the forms of them that models take, rows of the knowledge, and answers of searches."""
SEARCH_BYTES = 320 << 20
"""Of rows and answers together, unless `limit` says otherwise."""
_ROWS_SHARE = 3, 5


class Sized(Protocol):
    """A cache that knows how much it holds."""

    @property
    def held_bytes(self) -> int:
        """Bytes that it holds now."""
        ...

    def pop_oldest(self) -> None:
        """Evict the least recently used item, if there is one."""
        ...


_CACHES: dict[str, WeakSet[Sized]] = {kind: WeakSet() for kind in KINDS}
_MOST: dict[str, int] = {}
"""Bytes that all caches of a kind hold together at most."""
_LOCK = Lock()


def count(kind: str, cache: Sized) -> None:
    """Count a cache for as long as it lives.

    Args:
        kind: one of `KINDS`.
        cache: is not kept alive.
    """
    with _LOCK:
        _CACHES[kind].add(cache)


def held() -> dict[str, int]:
    """Bytes that are held now, by kind."""
    return {kind: sum(cache.held_bytes for cache in _every(kind)) for kind in KINDS}


def limit(search_bytes: int) -> None:
    """Have rows (three fifths) and answers of searches hold no more than so many bytes, in all stores together."""
    part, of = _ROWS_SHARE
    _MOST["rows"] = search_bytes * part // of
    _MOST["answers"] = search_bytes - _MOST["rows"]
    for kind in _MOST:
        bound(kind)


def bound(kind: str) -> None:
    """Have the caches of a kind, of every store, hold no more than they may together: the fullest lets go first."""
    those = _every(kind)
    while sum(cache.held_bytes for cache in those) > _MOST[kind]:
        max(those, key=lambda cache: cache.held_bytes).pop_oldest()


def _every(kind: str) -> list[Sized]:
    with _LOCK:
        return list(_CACHES[kind])


limit(SEARCH_BYTES)
