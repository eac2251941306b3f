"""The turns that ended last, for whoever asks what became of one. Nothing of a question, picture or answer is kept."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

MOST = 256


@dataclass(frozen=True, slots=True)
class RecentTurn:
    """The record of a turn."""

    id: str
    ended: float
    """Seconds since 1970."""
    caller: str
    """Name of the token that asked; empty: none was needed."""
    policy: str
    plan: str
    outcome: str
    reason: str
    """Why it failed, was refused, or abstained; empty: it did not."""
    seconds: float
    first_words_seconds: float | None
    stages: tuple[tuple[str, float, float], ...]
    """Name, seconds, and seconds of engines within them."""
    skipped: tuple[tuple[str, str], ...]
    """Name, and why."""


RECENT: deque[RecentTurn] = deque(maxlen=MOST)
