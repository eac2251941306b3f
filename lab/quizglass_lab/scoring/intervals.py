"""95 % intervals: by bootstrap for any scores, by Wilson's formula for shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

_LEVEL = 0.95
_RESAMPLES = 2000
_MOST_PICKS = 1 << 20


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean; the draws are seeded, so that equal values give equal intervals.

    Args:
        values: one score per question; need not be 0 or 1.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("values: no scores to average; pass one per question")
    scores = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(0)
    # A part of the resamples at a time: those of 200,000 questions together are 5 GB.
    at_once = max(1, _MOST_PICKS // len(scores))
    parts = [min(at_once, _RESAMPLES - begun) for begun in range(0, _RESAMPLES, at_once)]
    picks = (rng.integers(0, len(scores), (part, len(scores)), dtype=np.int32) for part in parts)
    means = np.concatenate([scores[each].mean(axis=1) for each in picks])
    edge = (1 - _LEVEL) / 2
    low, high = np.quantile(means, (edge, 1 - edge))
    return float(low), float(high)


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """Wilson's score interval of a share (1927): honest near 0 and 1 and for few questions.

    Raises:
        ValueError: no questions, or more hits than questions.
    """
    if not 0 <= hits <= count or not count:
        raise ValueError(f"hits: {hits} of {count}; expected 0 to as many as there are questions, of at least one")
    z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    share, spread = hits / count, z * z / count
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return max(0.0, centre - half), min(1.0, centre + half)
