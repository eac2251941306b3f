"""Logits to tokens and probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
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
    best = logits.argmax(axis=1).tolist()
    # What is not a number shows in the total, without a warning.
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        total = np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)
        np.log(total, out=total)
    return [
        Row(row, token, float(row[token]) + rest) for row, token, rest in zip(logits, best, total.tolist(), strict=True)
    ]
