"""How urgent the work of the current task is, for whoever shares out engines.

Like the clock of engine time, it travels with the context: an import says once that it is background work, and every
embedding that it asks for is. Nothing here knows what the work is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Priority(Enum):
    """Foreground work of a request, and background work."""

    AHEAD = "ahead"
    """The same as TURN, for a client that has fewer turns running than another."""
    TURN = "turn"
    """A part of a turn or a search."""
    BEHIND = "behind"
    """The same, for a client that has more turns running than another, by two or more."""
    BACKGROUND = "background"
    """Imports, and what a visual memory keeps."""


_priority: ContextVar[Callable[[], Priority]] = ContextVar("priority", default=lambda: Priority.TURN)
_held: ContextVar[Callable[[float], Awaitable[None]] | None] = ContextVar("held", default=None)


def current_priority() -> Priority:
    """The priority of the current task."""
    return _priority.get()()


@contextmanager
def at_priority(priority: Priority | Callable[[], Priority]) -> Iterator[None]:
    """Give the block's work a priority, which may change while it goes on."""
    token = _priority.set(priority if callable(priority) else lambda: priority)
    try:
        yield
    finally:
        _priority.reset(token)


@contextmanager
def held_by(wait: Callable[[float], Awaitable[None]]) -> Iterator[None]:
    """Have the block's work wait before its steps (`let_others_pass`): `wait` takes the most seconds."""
    token = _held.set(wait)
    try:
        yield
    finally:
        _held.reset(token)


async def let_others_pass(most_s: float) -> None:
    """Wait, before the next step of a turn, for those that go before it; at most so many seconds, and never long."""
    if (wait := _held.get()) is not None:
        await wait(most_s)
