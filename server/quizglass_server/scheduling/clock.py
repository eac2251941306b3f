"""Tells a stage how much of its time was spent inside engines, and how many tokens they read and wrote.

A stage sets `engine_time` to a fresh clock; whatever engine runs on its behalf adds to it, on any thread that carries
the stage's context. Nothing here knows which stages or engines there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from threading import Lock
from time import perf_counter_ns

Meter = Callable[[float], None]
"""Takes seconds of engines, on any thread."""


class EngineClock:
    """How long engines have worked; safe to share between threads. While two work at once, time passes once."""

    __slots__ = ("_lock", "_meter", "_work", "tokens", "written")

    def __init__(self, meter: Meter | None = None) -> None:
        """`meter` takes all that is added, as it is added."""
        self._meter = meter
        self.tokens = 0
        """Tokens of prompts."""
        self.written = 0
        """Tokens of completions."""
        self._work: list[tuple[int, int, float]] = []
        """Start and end in nanoseconds, and the stage's share."""
        self._lock = Lock()

    @property
    def us(self) -> int:
        """Microseconds so far."""
        with self._lock:
            edges = sorted(edge for start, end, share in self._work for edge in ((start, share), (end, -share)))
        total = shared = 0.0
        for (at, change), (until, _) in pairwise(edges):
            shared += change
            total += min(1.0, shared) * (until - at)
        return round(total / 1000)

    def add(self, us: int, share: float = 1.0, tokens: int = 0, written: int = 0) -> None:
        """An engine has worked so long until now, so much of that for this stage, whose prompts had `tokens` and whose
        completions `written`."""
        now = perf_counter_ns()
        with self._lock:
            self.tokens += tokens
            self.written += written
            self._work.append((now - 1000 * us, now, share))
        if self._meter is not None:
            self._meter(us * share / 1e6)


engine_time: ContextVar[EngineClock | None] = ContextVar("engine_time", default=None)
"""The clock of the current stage; None: not measured."""
engine_meter: ContextVar[Meter | None] = ContextVar("engine_meter", default=None)
"""What takes all engine time of the current caller, in stages or not; None: nothing does."""


def current_clock() -> EngineClock | None:
    """The clock of the current stage; outside of one, one for the meter of the caller, if there is any."""
    if (clock := engine_time.get()) is not None:
        return clock
    meter = engine_meter.get()
    return None if meter is None else EngineClock(meter)


def record_engine(us: int, tokens: int = 0, written: int = 0) -> None:
    """Add engine microseconds, the tokens of a prompt and those of its completion to the current stage."""
    if (clock := current_clock()) is not None:
        clock.add(us, tokens=tokens, written=written)


def charge_engine(seconds: float) -> None:
    """Have the caller's meter take time of work that was given up, which no stage counts."""
    if (meter := engine_meter.get()) is not None:
        meter(seconds)


@contextmanager
def measured_engine() -> Iterator[None]:
    """Add the time spent in the block to the current stage."""
    started = perf_counter_ns()
    try:
        yield
    finally:
        record_engine((perf_counter_ns() - started) // 1000)


@contextmanager
def metered(meter: Meter | None) -> Iterator[None]:
    """Have a meter take the engine time of the block."""
    token = engine_meter.set(meter)
    try:
        yield
    finally:
        engine_meter.reset(token)


@contextmanager
def stage_clock(*, metered: bool = True) -> Iterator[EngineClock]:
    """A fresh clock for the block, which is its own stage.

    Args:
        metered: whether the caller's meter takes its time; not where that is the work of several callers.
    """
    clock = EngineClock(engine_meter.get() if metered else None)
    token = engine_time.set(clock)
    try:
        yield clock
    finally:
        engine_time.reset(token)
