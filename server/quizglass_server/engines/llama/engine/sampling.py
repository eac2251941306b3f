"""Logits to tokens and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log, nan

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


class Sampler:
    """Makes rows of logits; keeps the memory that it works in."""

    def __init__(self, vocabulary: int) -> None:
        """Make it for logits of so many tokens."""
        self._scratch = np.empty(vocabulary, np.float32)

    def rows(self, logits: NDArray[np.float32]) -> list[Row]:
        """Each row of float32 [n, vocabulary] with its likeliest token."""
        return [self._row(row) for row in logits]

    def _row(self, logits: NDArray[np.float32]) -> Row:
        best = int(logits.argmax())
        peak = float(logits[best])
        if not isfinite(peak):
            return Row(logits, best, nan)
        scratch = self._scratch
        np.subtract(logits, peak, out=scratch)
        np.exp(scratch, out=scratch)
        return Row(logits, best, peak + log(float(scratch.sum())))
