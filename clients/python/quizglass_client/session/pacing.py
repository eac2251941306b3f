"""How many bytes of a frame are on their way at once: as many as the link carries while other messages do not wait."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf

LEAST, MOST = 8 * 1024, 1024 * 1024
"""Bytes."""
PART = 32 * 1024
"""Bytes of one piece, at most: it is on its way as a whole."""
_START = LEAST
_MORE = 4 * 1024
_SHORTEST_S = 1e-6
_QUEUE_S = 0.1
"""What others may wait behind what is on its way, beyond the round trip of an empty link."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where a piece ended."""

    sent: int
    """Bytes that were sent up to there."""
    under_way: int
    """Bytes that were on their way then, the piece's own among them."""
    at: float


class Window:
    """Bytes that may be on their way, found out by how long the answers to pings take which follow each piece.

    What was on its way when a piece was sent has arrived when its ping is answered, which tells what the link carries.
    """

    def __init__(self) -> None:
        self._size = float(_START)
        self._sent = 0
        self._arrived = 0
        self._marks: deque[_Mark] = deque()
        self._fastest = inf

    @property
    def room(self) -> int:
        """Bytes that may be sent now."""
        return max(0, int(self._size) - (self._sent - self._arrived))

    @property
    def piece(self) -> int:
        """Bytes that the next piece may have at most."""
        return min(PART, int(self._size) // 2)

    def sent(self, size: int, now: float) -> bytes:
        """So much was sent, at a time in seconds; what the ping after it is to carry."""
        self._sent += size
        self._marks.append(_Mark(self._sent, self._sent - self._arrived, now))
        return self._sent.to_bytes(8, "big")

    def answered(self, payload: bytes, now: float) -> None:
        """A ping came back: all that was sent before it has arrived."""
        arrived, last = int.from_bytes(payload, "big"), None
        while self._marks and self._marks[0].sent <= arrived:
            last = self._marks.popleft()
        if last is None:
            return
        self._arrived, took = last.sent, now - last.at
        self._fastest = min(self._fastest, took)
        longest = self._fastest + _QUEUE_S
        fits = last.under_way * longest / max(took, _SHORTEST_S)
        if took > longest:
            self._size = max(fits, self._size / 2, LEAST)
        elif 4 * last.under_way >= self._size:  # else it was not this window that held back
            self._size = min(max(fits, self._size + _MORE), 2 * self._size, MOST)
