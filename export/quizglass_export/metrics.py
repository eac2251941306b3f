"""How answers are judged: exact match after normalisation, token F1, and bootstrap confidence intervals.

Shared by the annotation of the planner's training data and by the accuracy benchmark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]")
_APOSTROPHE = re.compile(r"['’]")


def normalise(text: str) -> str:
    """Lower case, without punctuation, articles and surplus space (the usual rule of extractive QA)."""
    plain = _PUNCTUATION.sub(" ", _APOSTROPHE.sub("", text.lower()))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_match(answer: str, gold: str, aliases: Sequence[str] = ()) -> bool:
    """Whether an answer equals the gold answer or an alias after normalisation."""
    given = normalise(answer)
    return any(given == normalise(right) for right in (gold, *aliases))


def token_f1(answer: str, gold: str, aliases: Sequence[str] = ()) -> float:
    """Best F1 of word overlap with the gold answer or an alias, 0 to 1; two empty texts agree."""
    return max(_f1(normalise(answer).split(), normalise(right).split()) for right in (gold, *aliases))


def _f1(given: Sequence[str], right: Sequence[str]) -> float:
    if not given or not right:
        return float(given == right)
    shared = sum((Counter(given) & Counter(right)).values())
    return 2 * shared / (len(given) + len(right))


def confidence_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean.

    Args:
        values: one score per question; need not be 0 or 1.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("values: no scores to average; pass one per question")
    scores = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(scores), (resamples, len(scores)), dtype=np.int32)
    means = scores[picks].mean(axis=1)
    edge = (1 - level) / 2
    low, high = np.quantile(means, (edge, 1 - edge))
    return float(low), float(high)
