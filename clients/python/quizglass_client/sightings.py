"""What the SDK gives of the visual memory: frozen values, durations in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Sighting:
    """One frame that was asked about, and when."""

    id: str
    """Of the turn."""
    time: int
    """Seconds since 1970, by the server's clock."""
    age: int
    """Seconds ago, by the server's clock."""
    session_id: str
    """Empty: the turn named none."""
    frame_sha256: bytes
    question: str
    answer: str
    """Empty when there was none, or the server keeps no texts."""
    recognised: tuple[str, ...]
    """Titles of the entries that the picture was taken for, best first."""
    expires_after: int
    """Seconds after which it is forgotten by itself."""
    score: float
    """Cosine to what was searched for; 0 where nothing was compared."""
    has_thumbnail: bool

    @property
    def seen_at(self) -> datetime:
        """The time, in this machine's time zone."""
        return datetime.fromtimestamp(self.time).astimezone()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The receipt of forgetting: the bytes are gone once `compact` returns at least this sequence number."""

    sightings: int
    sequence: int


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """How much a server remembers, and what became of the rest since it started."""

    sightings: int
    bytes: int
    """On the disk, without indexes."""
    oldest_time: int
    """Seconds since 1970; 0: nothing is remembered."""
    latest_time: int
    ttl: int
    """Seconds that a sighting is remembered."""
    max_sightings: int
    max_bytes: int
    waiting: int
    """Not yet written."""
    remembered: int
    dropped: int
    """Left out because too many waited."""
    failed: int
