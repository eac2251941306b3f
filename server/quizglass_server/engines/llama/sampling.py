"""Logits to tokens and probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Row:
    """The logits after one token."""

    logits: NDArray[np.float32]
    """[vocabulary]; overwritten by the next step."""
    best: int
    """The likeliest token."""
    total: float
    """Logarithm of the sum of the exponentials; not finite when logits are not numbers."""

    def log_probability(self, token: int) -> float:
        """Natural logarithm of a token's probability."""
        return float(self.logits[token]) - self.total


def rows_of(logits: NDArray[np.float32]) -> list[Row]:
    """Each row of float32 [n, vocabulary] with its likeliest token."""
    best = logits.argmax(axis=1)
    top = logits[np.arange(len(logits)), best]
    with np.errstate(invalid="ignore", over="ignore"):
        total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return [Row(logits[index], int(best[index]), float(total[index])) for index in range(len(logits))]
