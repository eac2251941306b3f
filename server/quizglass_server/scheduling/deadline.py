"""Tells engines the deadline of their work.

A step runs inside `due_within`; whatever engine works on its behalf asks `deadline`, so that it can refuse what cannot
be done in time and stop abandoned work. Nothing here ends anything by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def deadline() -> float | None:
    """`time.monotonic()` after which the current work is abandoned; None for no limit."""
    return _deadline.get()


@contextmanager
def due_within(seconds: float) -> Iterator[None]:
    """Work in the block is due in so many seconds, or earlier where a block around it says so."""
    due, outer = monotonic() + seconds, _deadline.get()
    token = _deadline.set(due if outer is None else min(due, outer))
    try:
        yield
    finally:
        _deadline.reset(token)
