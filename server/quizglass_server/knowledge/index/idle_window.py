"""Moments at which nobody searches. Imports go on in those, so that nobody notices them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")

_LONGEST_S = 0.002
"""Where searches follow each other without a gap, a write waits no longer than this before each entry."""


class IdleWindow:
    """Searches that are under way: they begin and end on one event loop, and any thread may wait for a gap."""

    def __init__(self, longest_s: float = _LONGEST_S) -> None:
        """Nobody searches yet."""
        self._longest_s = longest_s
        self._searches = 0
        self._free = threading.Event()
        self._free.set()

    @property
    def busy(self) -> bool:
        """Whether somebody searches."""
        return self._searches > 0

    @contextmanager
    def search(self) -> Iterator[None]:
        """For as long as somebody searches."""
        self._searches += 1
        self._free.clear()
        try:
            yield
        finally:
            self._searches -= 1
            if not self._searches:
                self._free.set()

    def between(self, items: Iterable[Item]) -> Iterator[Item]:
        """Items, each as soon as nobody searches, or a little later if somebody always does. Blocks."""
        for item in items:
            self._free.wait(self._longest_s)
            yield item
