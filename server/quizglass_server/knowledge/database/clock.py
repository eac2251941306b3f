"""The time by which entries expire: it never goes back, and does not jump while a server runs.

At the start it is the system's clock, unless the store remembers a later time: a clock that was set back does not
bring expired entries back or make others live longer. From then on it counts seconds that pass, not what the system's
clock is set to: a clock that jumps ahead while the server runs expires nothing early. While something expires, the
store is told the time with every commit, every hour and when it is closed; a server that is killed loses no more than
that hour.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds."""


def passing() -> float:
    """Seconds since some fixed time, suspended ones included where the system counts them."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class StoreClock:
    """Seconds since 1970, as a store counts them."""

    def __init__(self, remembered: float, wall: Clock = time.time, counter: Clock = passing) -> None:
        """Start at the system's time or at the remembered one, whichever is later."""
        self._counter = counter
        self._start = max(remembered, wall()) - counter()

    def __call__(self) -> float:
        """The time now."""
        return self._start + self._counter()
