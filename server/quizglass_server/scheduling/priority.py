"""How urgent the work of the current task is, for whoever shares out engines.

Like the clock of engine time, it travels with the context: an import says once that it is background work, and every
embedding that it asks for is. Nothing here knows what the work is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum


class Priority(Enum):
    """Foreground work of a request, and background work."""

    AHEAD = "ahead"
    """The same as TURN, for an address that has fewer turns running than another."""
    TURN = "turn"
    """A part of a turn or a search."""
    BACKGROUND = "background"
    """Imports, and what a visual memory keeps."""


_priority: ContextVar[Priority] = ContextVar("priority", default=Priority.TURN)


def current_priority() -> Priority:
    """The priority of the current task."""
    return _priority.get()


@contextmanager
def at_priority(priority: Priority) -> Iterator[None]:
    """Give the block's work a priority."""
    token = _priority.set(priority)
    try:
        yield
    finally:
        _priority.reset(token)
