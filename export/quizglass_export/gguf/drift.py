"""How far a quantised language model is from its source: logits, best tokens, and distributions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quizglass_export.parity import Floats


@dataclass(frozen=True, slots=True)
class Drift:
    """Differences over all positions of some texts.

    Attributes:
        largest: largest absolute difference of a logit.
        mean: mean absolute difference of logits.
        spread: standard deviation of the source's logits over the vocabulary, all positions taken together.
        agreement: share of positions with the same best token.
        divergence: mean Kullback-Leibler divergence from the source's distribution, in nats.
        positions: how many positions were compared.
    """

    largest: float
    mean: float
    spread: float
    agreement: float
    divergence: float
    positions: int

    @property
    def relative(self) -> float:
        """The largest difference in units of the spread.

        What a difference does to the choice of a token hangs on how far logits lie apart: trained models' reach from
        -10 to 30, and rounding grows with them.
        """
        return self.largest / max(self.spread, 1e-12)


def drift(sources: Iterable[Floats], found: Iterable[Floats]) -> Drift:
    """Compare logits [S, V] of each text, one after the other."""
    largest, total, squares, same, divergence, positions, count = 0.0, 0.0, 0.0, 0, 0.0, 0, 0
    for source, other in zip(sources, found, strict=True):
        apart = np.abs(source - other)
        largest = float(np.maximum(largest, apart.max()))  # NaN stays
        total += float(apart.sum(dtype=np.float64))
        squares += float(source.var(-1, dtype=np.float64).sum()) * source.shape[-1]
        count += apart.size
        same += int((source.argmax(-1) == other.argmax(-1)).sum())
        first, second = _log_softmax(source), _log_softmax(other)
        divergence += float((np.exp(first) * (first - second)).sum())
        positions += len(source)
    spread = float(np.sqrt(squares / count))
    return Drift(largest, total / count, spread, same / positions, divergence / positions, positions)


def _log_softmax(values: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    shifted = values.astype(np.float64) - values.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))
