"""What was found in a picture, and where."""

from __future__ import annotations

from dataclasses import dataclass

from quizglass.values import Region


@dataclass(frozen=True, slots=True)
class Detection:
    """Where a picture shows something."""

    region: Region
    score: float
    """Probability that it is what the phrase says, 0 to 1."""
    phrase: str
