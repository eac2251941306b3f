"""The words of the visual memory: what was seen, when, and how it is looked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from quizglass_server.domain.turns import Picture, Vector


@dataclass(frozen=True, slots=True)
class Sighting:
    """One frame that was asked about, and when."""

    id: str
    """Of the turn."""
    time: int
    """Seconds since 1970 by the system's clock."""
    frame_sha256: bytes
    session: str = ""
    """Empty: the turn named none."""
    question: str = ""
    """One line; empty when texts are not remembered."""
    answer: str = ""
    """Empty when there was none, or texts are not remembered."""
    recognised: tuple[str, ...] = ()
    """Titles of the entries that the picture was taken for, best first; one line each."""
    expires_after_s: int = 0
    """When read: seconds left."""
    thumbnail_sha256: bytes | None = None
    """When read: of the small picture, if there is one."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A sighting on its way into the memory."""

    sighting: Sighting
    picture: Picture
    embed: Callable[[], Awaitable[Sequence[Vector]]]
    """Makes the vectors that the frame is to be found by; none: it is not found by picture."""


@dataclass(frozen=True, slots=True)
class SightingHit:
    """A sighting that was found."""

    sighting: Sighting
    score: float
    """Cosine; 0 where no vectors were compared."""


@dataclass(frozen=True, slots=True)
class SightingFilter:
    """Which sightings are meant; what is empty excludes nothing. All of it has to fit."""

    time_from: int = 0
    """Seconds since 1970, inclusive."""
    time_until: int = 0
    """Exclusive."""
    session: str = ""
    frame_sha256: bytes = b""


class Order(Enum):
    """In which order sightings come."""

    LATEST = "latest"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class SightingQuery:
    """How sightings are looked for."""

    limit: int
    filter: SightingFilter = field(default_factory=SightingFilter)
    order: Order = Order.LATEST
    least_score: float | None = None
    """Least cosine of a search by picture; None: whoever searches says."""


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """How much is remembered, and what became of the rest since the memory was opened."""

    sightings: int
    bytes: int
    """On the disk, without indexes."""
    oldest_time: int
    """Seconds since 1970; 0: nothing is remembered."""
    latest_time: int
    waiting: int
    remembered: int
    dropped: int
    """Left out because too many waited."""
    failed: int
