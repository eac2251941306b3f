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
    """A message as it is sent."""

    def ByteSize(self) -> int:  # protobuf's name
        """Its bytes."""
        ...


@dataclass(slots=True)
class _Kept:
    message: Encoded
    size: int
    written: float = math.inf
    """When it was written to a link, the latest time; infinite: not yet."""


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
        """Number of the first message that is kept, or will be."""
        self._bytes = 0

    @property
    def last(self) -> int:
        """Number of the newest message; 0: there is none."""
        return self.first + len(self._kept) - 1

    @property
    def full(self) -> bool:
        """Whether more is kept than should be."""
        return self._bytes > self._most_bytes

    def add(self, message: Encoded) -> None:
        """Keep a message, whose number is the next."""
        size = message.ByteSize()
        self._kept.append(_Kept(message, size))
        self._bytes += size

    def get(self, seq: int) -> Encoded:
        """The message of a number that is kept."""
        return self._kept[seq - self.first].message

    def wrote(self, seq: int) -> None:
        """The message of a number was written to a link."""
        if seq >= self.first:  # else its client has acknowledged it meanwhile
            self._kept[seq - self.first].written = self._now()

    def keeps_after(self, seq: int) -> bool:
        """Whether every message after that number is kept, if there was any."""
        return seq >= self.first - 1

    def acknowledge(self, seq: int) -> None:
        """Let go of all up to a number, which is at most `last`."""
        self._drop(lambda number, _: number <= seq)

    def make_room(self, written: int) -> None:
        """Let go of what was written to a link, up to that number: the oldest beyond the bytes, and what is too old.

        A client that reads and never acknowledges loses nothing but the chance to resume from there.
        """
        too_old = self._now() - self._longest_s
        self._drop(lambda number, kept: number <= written and (self.full or kept.written <= too_old))

    def _drop(self, goes: Callable[[int, _Kept], bool]) -> None:
        while self._kept and goes(self.first, self._kept[0]):
            self._bytes -= self._kept.popleft().size
            self.first += 1
