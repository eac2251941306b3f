"""What caches hold, in bytes: the part of a server's memory that grows with what it is asked."""

from __future__ import annotations

from threading import Lock
from typing import Protocol
from weakref import WeakSet

KINDS = ("pictures", "forms", "rows", "answers")
"""Pictures that were decoded, the forms of them that models take, rows of the knowledge, and answers of searches."""


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


def bound(kind: str, most_bytes: int) -> None:
    """Have the caches of a kind, those of all stores and tenants, hold no more together: the fullest lets go first."""
    those = _every(kind)
    while sum(cache.held_bytes for cache in those) > most_bytes:
        max(those, key=lambda cache: cache.held_bytes).pop_oldest()


def _every(kind: str) -> list[Sized]:
    with _LOCK:
        return list(_CACHES[kind])
