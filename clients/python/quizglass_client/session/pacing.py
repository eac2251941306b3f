"""How many bytes of a frame are on their way at once: as many as the link carries while other messages do not wait."""

from __future__ import annotations

from collections import deque

LEAST, MOST = 8 * 1024, 1024 * 1024
"""Bytes."""
PART = 32 * 1024
"""Bytes of one piece, at most: it is on its way as a whole."""
_START = 16 * 1024
_QUEUE_S = 0.1
"""What others may wait behind what is on its way, beyond the round trip of an empty link."""


class Window:
    """Bytes that may be on their way, found out by how long the answers to pings take which follow each piece.

    As long as they come as if nothing else were on its way, the window doubles; when they take longer, it is halved.
    """

    def __init__(self) -> None:
        self._size = _START
        self._sent = 0
        self._arrived = 0
        self._marks: deque[tuple[int, float]] = deque()
        self._fastest: float | None = None

    @property
    def room(self) -> int:
        """Bytes that may be sent now."""
        return max(0, self._size - (self._sent - self._arrived))

    @property
    def piece(self) -> int:
        """Bytes that the next piece may have at most."""
        return min(PART, self._size // 2)

    def sent(self, size: int, now: float) -> bytes:
        """So much was sent, at a time in seconds; what the ping after it is to carry."""
        self._sent += size
        self._marks.append((self._sent, now))
        return self._sent.to_bytes(8, "big")

    def answered(self, payload: bytes, now: float) -> None:
        """A ping came back: all that was sent before it has arrived."""
        arrived = int.from_bytes(payload, "big")
        took = None
        while self._marks and self._marks[0][0] <= arrived:
            self._arrived, at = self._marks.popleft()
            took = now - at
        if took is None:
            return
        self._fastest = took if self._fastest is None else min(self._fastest, took)
        if took <= self._fastest + _QUEUE_S:
            self._size = min(2 * self._size, MOST)
        else:
            self._size = max(self._size // 2, LEAST)
