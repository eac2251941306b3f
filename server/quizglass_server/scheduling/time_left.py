"""The time a turn may take."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """Time left of a turn, counted from the moment the budget is made.

    Args:
        total_s: seconds the turn may take; 0 or less is a budget already spent.
        now: monotonic clock in seconds.
    """

    __slots__ = ("_end", "_now", "total_s")

    def __init__(self, total_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self.total_s = max(0.0, total_s)
        self._now = now
        self._end = now() + self.total_s

    @property
    def left_s(self) -> float:
        """Seconds left; negative once the budget is spent."""
        return self._end - self._now()

    def fits(self, cost_s: float) -> bool:
        """Whether something that takes `cost_s` seconds still fits."""
        left = self.left_s
        return left > 0 and cost_s <= left
