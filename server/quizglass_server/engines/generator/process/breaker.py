"""When a process that dies is started again: at once, after a growing delay, or after a long pause.

A process that dies now and then is restarted at once; one that dies soon after its start, after a delay that doubles.
Too many deaths within a window open the breaker: nothing is tried during a pause, and requests are refused without
waiting. The first process after the pause is a probe. If it stays alive, the breaker closes; if it dies, it opens
again for twice the pause. A process that could not even be started, for want of descriptors or memory, has not died:
that is tried again after a growing delay and never opens the breaker. Knows no processes: it receives deaths and
steadiness, and says how long to wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from time import monotonic

from quizglass_server.config.settings import GeneratorOptions


class BreakerState(Enum):
    """Whether deaths are few enough to go on."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True)
class BreakerOptions:
    """How many deaths in how short a time are too many, and how long restarts wait then."""

    deaths: int = GeneratorOptions.generator_crashes
    """Deaths within the window that open the breaker."""
    window_s: float = 60.0
    pause_s: float = GeneratorOptions.generator_pause_s
    """The first; it doubles while probes die."""
    longest_pause: float = 16.0
    """The longest pause, in first pauses."""
    first_delay_s: float = 0.1
    """Before a restart after a second death in a row; the first is followed by none."""
    longest_delay_s: float = 5.0
    steady_s: float = 10.0
    """A process that lives so long is steady."""


class Breaker:
    """Counts deaths and decides on the next start.

    Args:
        options: how patient to be.
        now: monotonic clock in seconds.
    """

    def __init__(self, options: BreakerOptions, now: Callable[[], float] = monotonic) -> None:
        self._options = options
        self._now = now
        self._deaths: deque[float] = deque()
        self._delay_s = self._unstarted_s = 0.0
        self._pause_s = options.pause_s
        self._next_attempt = now()
        self._state = BreakerState.CLOSED

    @property
    def state(self) -> BreakerState:
        """Open from one death too many until `probe`, half-open from then until `steady` or the next death."""
        return self._state

    @property
    def retry_after_s(self) -> float:
        """Seconds until the next start is due; 0 when it already is."""
        return max(0.0, self._next_attempt - self._now())

    @property
    def recent_deaths(self) -> int:
        """Deaths within the window."""
        while self._deaths and self._deaths[0] <= self._now() - self._options.window_s:
            self._deaths.popleft()
        return len(self._deaths)

    def died(self) -> float:
        """A process died: seconds to wait before the next start."""
        now, options = self._now(), self._options
        self._unstarted_s = 0.0
        self._deaths.append(now)
        if self._state is not BreakerState.CLOSED:
            self._pause_s = min(self._pause_s * 2, options.pause_s * options.longest_pause)
            wait = self._open()
        elif self.recent_deaths >= options.deaths:
            wait = self._open()
        else:
            wait = self._delay_s
            self._delay_s = min(max(self._delay_s * 2, options.first_delay_s), options.longest_delay_s)
        self._next_attempt = now + wait
        return wait

    def not_started(self) -> float:
        """A process could not be started, for reasons that are not its own: seconds to wait before the next attempt."""
        options = self._options
        self._unstarted_s = min(max(self._unstarted_s * 2, options.first_delay_s), options.longest_delay_s)
        self._next_attempt = self._now() + self._unstarted_s
        return self._unstarted_s

    def probe(self) -> None:
        """The wait is over and a process is being started."""
        if self._state is BreakerState.OPEN:
            self._state = BreakerState.HALF_OPEN

    def steady(self) -> None:
        """The process has lived for `steady_s`."""
        self._delay_s = 0.0
        if self._state is BreakerState.HALF_OPEN:
            self._state = BreakerState.CLOSED
            self._pause_s = self._options.pause_s
            self._deaths.clear()

    def _open(self) -> float:
        self._state = BreakerState.OPEN
        return self._pause_s
