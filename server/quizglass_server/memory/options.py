"""How much is remembered, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Bounds of a memory; beyond them the oldest sightings are forgotten."""

    ttl_s: int = 30 * 86_400
    """Seconds that a sighting is remembered."""
    sightings: int = 10_000
    bytes: int = 1 << 30
    """Of the SQLite file; indexes come on top."""
    thumbnail_side: int = 256
    """Longest side of the small pictures, in pixels; 0: there are none."""
    texts: bool = True
    """Whether questions and answers are remembered."""
