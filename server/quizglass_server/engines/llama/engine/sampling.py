"""Logits to tokens and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log, nan

import numpy as np
from numpy.typing import NDArray

_TOGETHER = 1 << 18
"""Most logits that are worked on at once, so that they stay in the processor's cache."""


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
        self._together = max(1, _TOGETHER // vocabulary)
        self._scratch = np.empty((self._together, vocabulary), np.float32)

    def rows(self, logits: NDArray[np.float32]) -> list[Row]:
        """Each row of float32 [n, vocabulary] with its likeliest token."""
        if len(logits) == 1:
            return [self._row(logits[0])]
        best = logits.argmax(axis=1)
        highest = logits[np.arange(len(best)), best]
        peaks = highest.tolist()
        # Also a sum of numbers is none if one of them is not.
        if isfinite(sum(peaks)):
            rests = self._rests(logits, highest)
        else:
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                rests = self._rests(logits, highest)
        return [
            Row(row, token, peak + rest)
            for row, token, peak, rest in zip(logits, best.tolist(), peaks, rests, strict=True)
        ]

    def _row(self, logits: NDArray[np.float32]) -> Row:
        """One row alone, as most steps of few users have it."""
        best = int(logits.argmax())
        peak = float(logits[best])
        if not isfinite(peak):
            return Row(logits, best, nan)
        scratch = self._scratch[0]
        np.subtract(logits, peak, out=scratch)
        np.exp(scratch, out=scratch)
        return Row(logits, best, peak + log(float(scratch.sum())))

    def _rests(self, logits: NDArray[np.float32], highest: NDArray[np.float32]) -> list[float]:
        """Logarithms of the sums of exponentials, each row's highest logit taken as zero."""
        sums = np.empty(len(logits), np.float32)
        for start in range(0, len(logits), self._together):
            part = slice(start, start + self._together)
            scratch = self._scratch[: len(logits[part])]
            np.subtract(logits[part], highest[part, None], out=scratch)
            np.exp(scratch, out=scratch)
            scratch.sum(axis=1, out=sums[part])
        rests: list[float] = np.log(sums).tolist()
        return rests
