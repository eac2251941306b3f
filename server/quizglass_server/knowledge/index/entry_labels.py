"""Which vectors are of which entries, for searches among a few of them: their labels, without looking at all others."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

import numpy as np

from quizglass_server.knowledge.content.records import Labels

SORTED_IN_FROM = 1_024
"""Pairs that came later from which they are sorted in; from then on a quarter of those that are."""


class EntryLabels:
    """Labels of entries: two sorted columns of 8 bytes a vector, and a table of the pairs that came since.

    Labels that are gone stay: they are never given again, and whoever asks knows which ones live.
    """

    def __init__(self) -> None:
        """Starts with no vectors."""
        self._lock = threading.Lock()  # searches run beside commits
        self._entries = self._labels = np.empty(0, np.int64)
        self._later: dict[int, list[int]] = {}
        self._later_size = 0

    def __len__(self) -> int:
        with self._lock:
            return len(self._labels) + self._later_size

    def fill(self, labels: Labels, entries: Labels) -> None:
        """Start from these pairs, in any order."""
        with self._lock:
            self._later, self._later_size = {}, 0
            self._sort(labels, entries)

    def add(self, labels: Sequence[int], entries: Sequence[int]) -> None:
        """Take further pairs."""
        with self._lock:
            for label, entry in zip(labels, entries, strict=True):
                self._later.setdefault(entry, []).append(label)
            self._later_size += len(labels)
            if self._later_size >= max(SORTED_IN_FROM, len(self._labels) // 4):
                self._sort_in()

    def of(self, entries: Collection[int]) -> Labels:
        """All labels of these entries, ascending; those that are gone may be among them."""
        wanted = np.fromiter(entries, np.int64, len(entries))
        with self._lock:
            sorted_entries, sorted_labels = self._entries, self._labels
            late = [label for entry in entries for label in self._later.get(entry, ())] if self._later else []
        first = np.searchsorted(sorted_entries, wanted)
        counts = np.searchsorted(sorted_entries, wanted, side="right") - first
        ends = np.cumsum(counts)
        rows = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - counts), counts)
        return np.sort(np.concatenate([sorted_labels[rows], np.array(late, np.int64)]))

    def keep(self, labels: Labels) -> None:
        """Forget all labels but these."""
        with self._lock:
            self._sort_in()
            living = np.isin(self._labels, labels)
            self._entries, self._labels = self._entries[living], self._labels[living]

    def _sort_in(self) -> None:
        entries = [entry for entry, labels in self._later.items() for _ in labels]
        labels = [label for some in self._later.values() for label in some]
        self._later, self._later_size = {}, 0
        self._sort(
            np.concatenate([self._labels, np.array(labels, np.int64)]),
            np.concatenate([self._entries, np.array(entries, np.int64)]),
        )

    def _sort(self, labels: Labels, entries: Labels) -> None:
        order = np.argsort(entries, kind="stable")
        self._entries, self._labels = entries[order], labels[order]
