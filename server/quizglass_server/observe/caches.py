"""What caches hold, in bytes: the part of a server's memory that grows with what it is asked."""

from __future__ import annotations

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


_CACHES: dict[str, WeakSet[Sized]] = {kind: WeakSet() for kind in KINDS}


def count(kind: str, cache: Sized) -> None:
    """Count a cache for as long as it lives.

    Args:
        kind: one of `KINDS`.
        cache: is not kept alive.
    """
    _CACHES[kind].add(cache)


def held() -> dict[str, int]:
    """Bytes that are held now, by kind."""
    return {kind: sum(cache.held_bytes for cache in list(those)) for kind, those in _CACHES.items()}
