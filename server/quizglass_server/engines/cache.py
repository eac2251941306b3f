"""A cache of bounded cost that forgets what was used longest ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Least recently used goes first; safe to share between threads.

    Args:
        limit: most cost kept, in the unit of `cost`.
        cost: of one value; 1 by default, so that `limit` counts values.
    """

    def __init__(self, limit: int, cost: Callable[[V], int] = lambda _: 1) -> None:
        self._limit = limit
        self._cost = cost
        self._values: OrderedDict[K, V] = OrderedDict()
        self._used = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value, now the most recently used; None when it is not kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Keep a value; one that costs more than the limit is not kept."""
        with self._lock:
            if (old := self._values.pop(key, None)) is not None:
                self._used -= self._cost(old)
            self._values[key] = value
            self._used += self._cost(value)
            while self._used > self._limit:
                _, dropped = self._values.popitem(last=False)
                self._used -= self._cost(dropped)
