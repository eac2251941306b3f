"""Caches of bounded cost that threads share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

from quizglass_server.observe import caches, metrics

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """A cache of bounded size, from which the least recently used goes first; safe to share between threads.

    Args:
        limit: most cost kept, in the unit of `cost`.
        cost: of one value; 1 by default, so that `limit` counts values.
        name: under which lookups are counted in the metrics; empty: they are not.
        kind: of `observe.caches`, under which its cost, in bytes, is; empty: under none.
        together: whether all caches of that kind keep no more than `observe.caches` lets them; else each its own.
    """

    def __init__(
        self,
        limit: int,
        cost: Callable[[V], int] = lambda _: 1,
        name: str = "",
        kind: str = "",
        *,
        together: bool = False,
    ) -> None:
        self._kind, self._together = kind, together
        self._name = name
        self._values: LRUCache[K, V] = LRUCache(limit, cost)
        self._lock = Lock()
        if kind:
            caches.count(kind, self)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def held_bytes(self) -> int:
        """The cost of all values, where that is counted in bytes."""
        return int(self._values.currsize)

    def get(self, key: K) -> V | None:
        """The value, now the most recently used; None when it is not kept."""
        with self._lock:
            value = self._values.get(key)
        if self._name:
            metrics.CACHE.add(self._name, "miss" if value is None else "hit")
        return value

    def newest(self, most: int) -> dict[K, V]:
        """The values that were put last, at most so many, the newest last."""
        with self._lock:
            keys = list(self._values)[-most:]
            return {key: self._values[key] for key in keys}

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()

    def pop_oldest(self) -> None:
        """Let go of the least recently used value."""
        with self._lock, suppress(KeyError):
            self._values.popitem()

    def put(self, key: K, value: V) -> None:
        """Keep a value; one that costs more than the limit is not kept."""
        with self._lock:
            self._values.pop(key, None)
            with suppress(ValueError):  # too large
                self._values[key] = value
        if self._together:
            caches.bound(self._kind)


class MadeOnce(Generic[K, V]):
    """Values that take long to make: kept as a `BoundedCache` keeps them, and made once however many threads ask.

    Args:
        limit: most cost kept.
        cost: of one value.
        name: under which the metrics count what was made as `miss`, and what was there or being made as `hit`.
        kind: of `observe.caches`.
    """

    def __init__(self, limit: int, cost: Callable[[V], int], name: str, kind: str) -> None:
        self._kept = BoundedCache[K, V](limit, cost, kind=kind)
        self._name = name
        self._lock = Lock()  # of the table alone, never held while a value is made
        self._making: dict[K, Future[V]] = {}

    def get(self, key: K, make: Callable[[], V]) -> V | Future[V]:
        """The value: kept, or made now. While another thread makes it, that one's future, which cannot be cancelled and
        fails with what `make` raises there.
        """
        with self._lock:
            kept = self._kept.get(key)
            ready = kept if kept is not None else self._making.get(key)
            if ready is None:
                self._making[key] = future = Future[V]()
                future.set_running_or_notify_cancel()
        metrics.CACHE.add(self._name, "miss" if ready is None else "hit")
        return self._made(key, make, future) if ready is None else ready

    def _made(self, key: K, make: Callable[[], V], future: Future[V]) -> V:
        try:
            value = make()
            self._kept.put(key, value)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._making[key]
        future.set_result(value)
        return value
