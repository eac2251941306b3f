"""Ends work that runs on an engine's thread once nothing waits for it any more.

A thread cannot be stopped from outside. ONNX Runtime looks between two nodes of a graph whether its run is to go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock


class Interest:
    """Whether anything waits for the work that runs in this context; from any thread."""

    def __init__(self) -> None:
        self.lost = False
        """Whether nothing does any more."""
        self._ends: list[Callable[[], None]] = []
        self._lock = Lock()

    def lose(self) -> None:
        """Nothing waits any more: what runs is ended, and what begins is ended at once."""
        with self._lock:
            self.lost = True
            ends = tuple(self._ends)
        for end in ends:
            end()

    @contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """A block that `end`, which may be called from any thread, brings to its end soon."""
        with self._lock:
            self._ends.append(end)
            lost = self.lost
        if lost:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)


_current: ContextVar[Interest | None] = ContextVar("interest", default=None)


def current_interest() -> Interest | None:
    """That in the work of this context; None: it runs to its end whatever becomes of those who wait."""
    return _current.get()


@contextmanager
def waited_for(interest: Interest | None) -> Iterator[None]:
    """A block whose work ends once the interest is lost; None: it runs to its end, for others that come to wait."""
    token = _current.set(interest)
    try:
        yield
    finally:
        _current.reset(token)
