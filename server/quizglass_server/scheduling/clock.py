"""Tells a stage how much of its time was spent inside engines, and how many tokens they read and wrote.

A stage sets `engine_time` to a fresh clock; whatever engine runs on its behalf adds to it, on any thread that carries
the stage's context. Nothing here knows which stages or engines there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from threading import Lock
from time import perf_counter_ns


class EngineClock:
    """How long engines have worked; safe to share between threads. While two work at once, time passes once."""

    __slots__ = ("_lock", "_work", "tokens", "written")

    def __init__(self) -> None:
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


engine_time: ContextVar[EngineClock | None] = ContextVar("engine_time", default=None)
"""The clock of the current stage; None: not measured."""


def record_engine(us: int, tokens: int = 0, written: int = 0) -> None:
    """Add engine microseconds, the tokens of a prompt and those of its completion to the current stage."""
    if (clock := engine_time.get()) is not None:
        clock.add(us, tokens=tokens, written=written)


@contextmanager
def measured_engine() -> Iterator[None]:
    """Add the time spent in the block to the current stage."""
    started = perf_counter_ns()
    try:
        yield
    finally:
        record_engine((perf_counter_ns() - started) // 1000)


@contextmanager
def stage_clock() -> Iterator[EngineClock]:
    """A fresh clock for the block, which is its own stage."""
    clock = EngineClock()
    token = engine_time.set(clock)
    try:
        yield clock
    finally:
        engine_time.reset(token)
