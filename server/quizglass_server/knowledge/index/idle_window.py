"""Lets imports work while no search runs, so that they do not slow searches down."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")

_LONGEST_S = 0.002
"""Where searches follow each other without a gap, a write waits no longer than this before each entry."""


class IdleWindow:
    """Counts the searches under way. They begin and end on one event loop; any thread may wait until none is."""

    def __init__(self, longest_s: float = _LONGEST_S) -> None:
        """No search is running yet."""
        self._longest_s = longest_s
        self._searches = 0
        self._free = threading.Event()
        self._free.set()

    @property
    def busy(self) -> bool:
        """Whether a search is running."""
        return self._searches > 0

    @contextmanager
    def search(self) -> Iterator[None]:
        """Marks one search as under way while the context is open."""
        self._searches += 1
        self._free.clear()
        try:
            yield
        finally:
            self._searches -= 1
            if not self._searches:
                self._free.set()

    def between(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, each once no search runs, or after `longest_s` seconds at the latest. Blocks."""
        for item in items:
            self._free.wait(self._longest_s)
            yield item
