"""Matrix products of numpy, one at a time.

OpenBLAS takes tens of megabytes of address space for each that runs, keeps them for the next one, and ends the process
where it gets none. So as many threads as there are turns would take as many, in the midst of serving.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

_SIDE = 64
_one = threading.Lock()


def product(
    one: NDArray[np.float32], other: NDArray[np.float32], out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """numpy's `matmul`, once those of other threads are done."""
    with _one:
        result: NDArray[np.float32] = np.matmul(one, other, out=out)
    return result


def take_memory() -> None:
    """Have OpenBLAS take now what it needs for a product."""
    square = np.ones((_SIDE, _SIDE), np.float32)
    product(square, square)
