"""Bringing together two files that tell of the same questions, while both are read from front to back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

RightT = TypeVar("RightT")


class Joining(Generic[RightT]):
    """The second file. Files in the same order are never held in memory; in another order, what was passed is."""

    def __init__(self, items: Iterator[tuple[Hashable, RightT]]) -> None:
        """`items`: keys and records, in the order of the file."""
        self._items = items
        self._passed: dict[Hashable, RightT] = {}

    def take(self, key: Hashable) -> RightT | None:
        """The record of a key; None when the file has none, or it was taken before."""
        if key in self._passed:
            return self._passed.pop(key)
        for other, record in self._items:
            if other == key:
                return record
            self._passed[other] = record
        return None
