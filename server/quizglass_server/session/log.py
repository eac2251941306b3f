"""What a session has said and its client has not acknowledged, so that it can be said again over another link.

Knows neither what messages say nor how they are sent.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Encoded(Protocol):
    """An encoded message."""

    def ByteSize(self) -> int:  # protobuf's name
        """Its size in bytes."""
        ...


@dataclass(slots=True)
class _Kept:
    message: Encoded
    size: int
    written: float = math.inf
    """When it was last written to a link; infinite: not yet."""


class MessageLog:
    """Numbered messages, from the first that is not acknowledged on.

    Args:
        most_bytes: that are kept together.
        longest_s: seconds that a message is kept once it was written to a link.
        now: monotonic clock in seconds.
    """

    def __init__(self, most_bytes: int, longest_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._most_bytes = most_bytes
        self._longest_s = longest_s
        self._now = now
        self._kept: deque[_Kept] = deque()
        self.first = 1
        """Number of the first message that is kept, or of the next one where none is."""
        self._bytes = 0

    @property
    def last(self) -> int:
        """Number of the newest message; 0: there was none."""
        return self.first + len(self._kept) - 1

    @property
    def full(self) -> bool:
        """Whether more bytes are kept than allowed."""
        return self._bytes > self._most_bytes

    def add(self, message: Encoded) -> None:
        """Keep a message under the next number."""
        size = message.ByteSize()
        self._kept.append(_Kept(message, size))
        self._bytes += size

    def get(self, seq: int) -> Encoded:
        """The kept message of that number."""
        return self._kept[seq - self.first].message

    def wrote(self, seq: int) -> None:
        """Note that a message was written to a link."""
        if seq >= self.first:  # else its client has acknowledged it meanwhile
            self._kept[seq - self.first].written = self._now()

    def keeps_after(self, seq: int) -> bool:
        """Whether every message after that number is kept, if there was any."""
        return seq >= self.first - 1

    def acknowledge(self, seq: int) -> None:
        """Remove all messages up to a number, which is at most `last`."""
        self._drop(lambda number, _: number <= seq)

    def make_room(self, written: int) -> None:
        """Drop what was written to a link, up to that number: the oldest beyond the bytes, and what is too old.

        A client that reads and never acknowledges loses nothing but the chance to resume from there.
        """
        too_old = self._now() - self._longest_s
        self._drop(lambda number, kept: number <= written and (self.full or kept.written <= too_old))

    def _drop(self, goes: Callable[[int, _Kept], bool]) -> None:
        while self._kept and goes(self.first, self._kept[0]):
            self._bytes -= self._kept.popleft().size
            self.first += 1
