"""The words of the visual memory: what was seen, when, and how it is looked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from quizglass import values
from quizglass.values import Order
from quizglass_server.domain.turns import Picture, Vector


@dataclass(frozen=True, slots=True)
class Sighting(values.Sighting):
    """One frame that was asked about, and when."""

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
    """Which sightings are meant: those that match every field that is not empty."""

    time_from: int = 0
    """Seconds since 1970, inclusive."""
    time_until: int = 0
    """Exclusive."""
    session: str = ""
    frame_sha256: bytes = b""


@dataclass(frozen=True, slots=True)
class SightingQuery:
    """How sightings are looked for."""

    limit: int
    filter: SightingFilter = field(default_factory=SightingFilter)
    order: Order = Order.LATEST
    least_score: float | None = None
    """Least cosine of a search by picture; None: whoever searches says."""
