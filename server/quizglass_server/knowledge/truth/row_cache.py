"""Rows that were written or found last, checked when they were read: most searches find what others found before.

A row never changes once it is written and its label is never used again (`schema.py`), so a kept row can only become
one of an entry that is gone. Those are forgotten with the commit that removes them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from quizglass_server.knowledge.content.records import Hit, Kind

BYTES = 192 << 20
"""Kept at most; about 100,000 passages of 400 characters."""
_OBJECTS = 1_000  # bytes of the objects around a row's contents


class HotRows:
    """For any number of threads."""

    def __init__(self, most_bytes: int = BYTES) -> None:
        """Keep so many bytes."""
        self._most = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._rows: OrderedDict[tuple[Kind, int], Hit] = OrderedDict()
        self._removals = 0

    @property
    def removals(self) -> int:
        """How often rows were forgotten; to be taken before rows are read that shall be kept."""
        return self._removals

    def found(self, kind: Kind, labels: Sequence[int]) -> dict[int, Hit]:
        """Those of the labels that are kept."""
        rows, known = self._rows, dict[int, Hit]()
        with self._lock:
            for label in labels:
                key = (kind, label)
                hit = rows.get(key)
                if hit is not None:
                    rows.move_to_end(key)
                    known[label] = hit
        return known

    def keep(self, kind: Kind, read: Mapping[int, Hit], removals: int) -> None:
        """Keep rows, unless some were removed since `removals` was taken: these may be among them."""
        with self._lock:
            if removals != self._removals:
                return
            for label, hit in read.items():
                if not hit.entry.expires_after_s and (kind, label) not in self._rows:  # what expires counts seconds
                    self._rows[kind, label] = hit
                    self._bytes += _size(hit)
            while self._bytes > self._most:
                _, dropped = self._rows.popitem(last=False)
                self._bytes -= _size(dropped)

    def forget(self, kind: Kind, labels: Sequence[int]) -> None:
        """Rows that were removed."""
        if not labels:
            return
        with self._lock:
            self._removals += 1
            for label in labels:
                hit = self._rows.pop((kind, label), None)
                if hit is not None:
                    self._bytes -= _size(hit)


def _size(hit: Hit) -> int:
    entry = hit.entry
    attributes = sum(len(key) + len(value) + 120 for key, value in entry.attributes.items())
    return _OBJECTS + len(hit.text) + len(entry.text) + len(entry.caption) + attributes
