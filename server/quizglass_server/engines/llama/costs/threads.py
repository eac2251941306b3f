"""How many threads compute a step: all that there are, fewer while other processes keep some of them off their cores.

llama.cpp's threads wait for each other after every operation, hundreds of times in a step, so that one that is off its
core holds up all. Then the thread that calls llama.cpp is off its own as well, waiting or itself the one that is
missing: what its steps take by the clock beyond its own time on a core tells of the others too, and costs two readings
of clocks.

Going by that alone, the number would swing. So more threads are tried again only after a rest, which doubles each time
that they do badly. Steps are judged by the time that they have taken; only the rest goes by the clock, because the
others may have left while nobody asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

WINDOW_US, SURE_US = 10_000, 30_000
"""Steps are judged together until they have taken so long: some of the slices in which a system shares a core. Longer
where all threads have done well so far, since any job takes a core for some milliseconds."""
MOST_OFF = 0.4
"""Share of the time off a core from which on fewer threads are faster: two are 1.4 to 1.9 times as fast as one."""
REST, LONGEST_REST, LONGEST_REST_S = 5, 10, 2.0
"""Until more threads are tried again: at first and at most so many times what it took to find that they do badly; where
that is less, at most so many seconds."""
PROVEN_US = 200_000
"""More threads that did well for so long have not merely been lucky."""

logger = logging.getLogger(__name__)


class ThreadCount:
    """On how many threads to compute: as many as get a core. For the thread that computes; any may read `count`."""

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        """Begin with all of them.

        Args:
            most: how many there are.
            clock: seconds that never go back.
        """
        self.count = most
        self._most = most
        self._clock = clock
        self._spent = self._computed = 0.0
        """Of the steps that have not been judged."""
        self._trying_us: float | None = None
        """How long more threads have been tried; None where nothing is being tried."""
        self._rest = float(REST)
        self._rested_at = 0.0

    @property
    def only_one(self) -> bool:
        """Whether of several threads only one is left."""
        return self.count == 1 < self._most

    def note(self, spent_us: float, computed_us: float) -> bool:
        """A step has taken so long, and its calling thread was on a core for so long; whether `count` has changed."""
        if self._most == 1:
            return False
        self._spent += spent_us
        self._computed += computed_us
        sure = self.count == self._most and self._trying_us is None
        if self._spent < (SURE_US if sure else WINDOW_US):
            return False
        before = self.count
        spent, off = self._spent, 1 - self._computed / self._spent
        self._spent = self._computed = 0.0
        if off > MOST_OFF:
            self._take_fewer(spent)
        else:
            self._take_more(spent)
        if self.count != before:
            logger.debug("%d threads instead of %d: off their cores for %.0f %%", self.count, before, 100 * off)
        return self.count != before

    def _take_fewer(self, spent_us: float) -> None:
        if self.count == 1:
            return
        if self._trying_us is not None:
            self._rest *= 2
            self._trying_us = None
        spent_s = spent_us / 1e6
        self._rested_at = self._clock() + min(self._rest * spent_s, max(LONGEST_REST * spent_s, LONGEST_REST_S))
        self.count = fewer(self.count)

    def _take_more(self, spent_us: float) -> None:
        if self._trying_us is not None:
            self._trying_us += spent_us
            if self._trying_us >= PROVEN_US:
                self._trying_us, self._rest = None, float(REST)
        if self.count < self._most and self._clock() >= self._rested_at:
            self._trying_us = 0.0
            self.count = more(self.count, self._most)


def fewer(count: int) -> int:
    """The next smaller number that is worth trying: about three quarters, at least 1."""
    return max(1, count * 3 // 4)


def more(count: int, most: int) -> int:
    """The number of which `count` is the next smaller one, counted down from `most`."""
    larger = most
    while fewer(larger) > count:
        larger = fewer(larger)
    return larger
