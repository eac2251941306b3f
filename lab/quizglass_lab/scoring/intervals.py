"""95 % intervals: by bootstrap for any scores, by Wilson's formula for shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_LEVEL = 0.95
_RESAMPLES = 2000
_MOST_PICKS = 1 << 20
_MANY = 5000
"""Number of questions from which the means of resamples count as normal."""


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean; the draws are seeded, so that equal values give equal intervals.

    Args:
        values: one score per question; need not be 0 or 1.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("values: no scores to average; pass one per question")
    return _edges(resampled_means(np.asarray(values, dtype=np.float64)[:, None])[:, 0])


def interval_of(combine: Callable[..., NDArray[np.float64]], *groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Percentile bootstrap interval of a figure made of several means, such as the harmonic mean of two.

    Args:
        combine: the figure, of one array [resamples] for each column of each group, in order.
        groups: questions that are resampled apart from each other; of each question its columns, which stay together.

    Raises:
        ValueError: a group without questions.
    """
    if not all(groups):
        raise ValueError("groups: one has no questions; a figure of several means needs all of them")
    means = [resampled_means(np.asarray(group, dtype=np.float64), seed) for seed, group in enumerate(groups)]
    return _edges(combine(*np.concatenate(means, axis=1).T))


def resampled_means(scores: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """Means [2000, K] of the columns of scores [N, K] over questions drawn with replacement.

    Of many questions such means are normal (central limit theorem), and are drawn so: the draws of 70,000 questions
    would take seconds for each figure.
    """
    rng = np.random.default_rng(seed)
    if len(scores) >= _MANY:
        centre, spread = scores.mean(axis=0), np.cov(scores, rowvar=False).reshape((scores.shape[1],) * 2)
        normal = rng.multivariate_normal(centre, spread / len(scores), _RESAMPLES, check_valid="ignore", method="eigh")
        return np.asarray(normal, dtype=np.float64)
    # A part of the resamples at a time: of all together memory is N x 2000.
    at_once = max(1, _MOST_PICKS // scores.size)
    parts = [min(at_once, _RESAMPLES - begun) for begun in range(0, _RESAMPLES, at_once)]
    picks = (rng.integers(0, len(scores), (part, len(scores)), dtype=np.int32) for part in parts)
    return np.concatenate([scores[each].mean(axis=1) for each in picks])


def _edges(values: NDArray[np.float64]) -> tuple[float, float]:
    edge = (1 - _LEVEL) / 2
    defined = values[np.isfinite(values)]  # a ratio has no value where a resample's denominator is 0
    low, high = np.quantile(defined, (edge, 1 - edge))
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
