"""Rows that were written or found last, checked when they were read: most searches find what others found before.

A row never changes once it is written and its label is never used again (`schema.py`), so a kept row can only become
one of an entry that is gone. Those are forgotten with the commit that removes them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from cachetools import LRUCache

from quizglass.values import Entry
from quizglass_server.knowledge.content.records import Hit, VectorKind
from quizglass_server.observe import caches

_BYTES = 192 << 20
"""Of one store, as long as all have no more than they may together; about 100,000 passages of 400 characters."""
_OBJECTS = 850  # bytes of the objects around a row's texts


class RowCache:
    """Rows by label, of which the least recently used go first. Any number of threads may use it."""

    def __init__(self, most_bytes: int = _BYTES) -> None:
        """Keep so many bytes, and with those of other stores no more than `observe.caches` lets them."""
        self._lock = threading.Lock()
        self._rows: LRUCache[tuple[VectorKind, int], Hit] = LRUCache(most_bytes, _size)
        caches.count("rows", self)
        self.removals = 0
        """How often rows were forgotten; to be taken before rows are read that shall be kept."""

    @property
    def held_bytes(self) -> int:
        """Bytes of the rows that are kept."""
        return int(self._rows.currsize)

    def found(self, kind: VectorKind, labels: Sequence[int]) -> dict[int, Hit]:
        """The rows of these labels that are in the cache."""
        rows = self._rows
        with self._lock:
            return {label: hit for label in labels if (hit := rows.get((kind, label))) is not None}

    def keep(self, kind: VectorKind, read: Mapping[int, Hit], removals: int) -> None:
        """Keep rows, unless some were removed since `removals` was taken: these may be among them."""
        with self._lock:
            if removals != self.removals:
                return
            for label, hit in read.items():
                if not hit.entry.expires_after and (kind, label) not in self._rows:  # what expires counts seconds
                    with suppress(ValueError):  # larger than all that is kept
                        self._rows[kind, label] = hit
        caches.bound("rows")

    def pop_oldest(self) -> None:
        """Drop the row that was used least recently."""
        with self._lock, suppress(KeyError):
            self._rows.popitem()

    def forget(self, kind: VectorKind, labels: Sequence[int]) -> None:
        """Drop rows that were removed from the database."""
        if not labels:
            return
        with self._lock:
            self.removals += 1
            for label in labels:
                self._rows.pop((kind, label), None)


def entry_bytes(entry: Entry) -> int:
    """Memory that an entry takes, about."""
    texts = (entry.text, entry.caption, *entry.attributes, *entry.attributes.values())
    return _OBJECTS + sum(map(sys.getsizeof, texts))


def _size(hit: Hit) -> int:
    return entry_bytes(hit.entry) + sys.getsizeof(hit.text)
