"""Who owns which cells of the KV cache: llama.cpp shares them between sequences but does not say how many are left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int32]
"""Numbers of cells, each once. They are the ledger's own, not llama.cpp's: only how many there are is the same."""


class Ledger:
    """Counts for each cell the sequences that hold it."""

    def __init__(self, size: int) -> None:
        """Make a ledger of `size` free cells."""
        self.size = size
        self._holders = np.zeros(size, np.int32)
        self._free = np.arange(size, dtype=np.int32)
        self._free_count = size

    @property
    def free(self) -> int:
        """Cells that nobody holds."""
        return self._free_count

    def take(self, count: int) -> Cells:
        """Hold `count` free cells.

        Raises:
            ValueError: there are not so many.
        """
        if not 0 <= count <= self._free_count:
            raise ValueError(f"{count} cells wanted, {self._free_count} free")
        start = self._free_count - count
        taken = self._free[start : self._free_count].copy()
        self._free_count = start
        self._holders[taken] = 1
        return taken

    def share(self, cells: Cells) -> None:
        """One holder more."""
        self._holders[cells] += 1

    def drop(self, cells: Cells) -> None:
        """One holder less; cells without one are free again."""
        self._holders[cells] -= 1
        freed = cells[self._holders[cells] == 0]
        end = self._free_count + len(freed)
        self._free[self._free_count : end] = freed
        self._free_count = end

    def free_without(self, holdings: list[Cells]) -> int:
        """How many would be free if each of these were dropped."""
        holders = self._holders.copy()
        for cells in holdings:
            holders[cells] -= 1
        return int(self.size - np.count_nonzero(holders))
