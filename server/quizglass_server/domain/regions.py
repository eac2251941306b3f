"""Rectangles of pictures, and what was found in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of a picture; sides as shares of its width and height, 0 to 1."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        """Share of the picture's."""
        return max(self.right - self.left, 0.0) * max(self.bottom - self.top, 0.0)


@dataclass(frozen=True, slots=True)
class Detection:
    """Where a picture shows something."""

    region: Region
    score: float
    """Probability that it is what the phrase says, 0 to 1."""
    phrase: str
