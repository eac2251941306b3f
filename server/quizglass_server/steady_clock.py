"""The time as it passes: it never goes back, and does not jump while a server runs.

At the start it is the system's clock, unless a store remembers a later time: a clock that was set back does not bring
expired entries back or make others live longer. From then on it counts seconds that pass, not what the system's clock
is set to: a clock that jumps ahead while the server runs expires no entry early and ends no dialogue. While something
expires, a store takes the time with every commit, every hour and when it is closed; a server that is killed loses no
more than that hour. A server that started with a wrong clock keeps to it until it is started again.
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


class SteadyClock:
    """Seconds since 1970, counted as they pass."""

    def __init__(self, remembered: float = 0.0, wall: Clock = time.time, counter: Clock = passing) -> None:
        """Start at the system's time or at the remembered one, whichever is later."""
        self._counter = counter
        self._start = max(remembered, wall()) - counter()

    def __call__(self) -> float:
        """The time now."""
        return self._start + self._counter()
