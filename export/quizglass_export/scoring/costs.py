"""What answers cost: searches, tokens and time, over many turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

IMAGE_SEARCH_S, TEXT_SEARCH_S = 6.4, 1.4
"""One search of the open web, as the planning agent's paper measured it."""


@dataclass(frozen=True, slots=True)
class TurnCost:
    """One turn."""

    image_searches: int = 0
    text_searches: int = 0
    prompt_tokens: int = 0
    """Of all models."""
    answer_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MeanCost:
    """Of a turn, on average; latency by its median and its 95th percentile, in seconds."""

    image_searches: float
    text_searches: float
    prompt_tokens: float
    answer_tokens: float
    p50: float
    p95: float

    @property
    def search_s(self) -> float:
        """Seconds of searching at the planning agent's tariff."""
        return self.image_searches * IMAGE_SEARCH_S + self.text_searches * TEXT_SEARCH_S


def mean_cost(turns: Sequence[TurnCost]) -> MeanCost:
    """Over all turns.

    Raises:
        ValueError: no turns.
    """
    if not turns:
        raise ValueError("turns: none; there is nothing to average")
    p50, p95 = (float(each) for each in np.quantile([turn.seconds for turn in turns], (0.5, 0.95)))
    return MeanCost(
        fmean(turn.image_searches for turn in turns),
        fmean(turn.text_searches for turn in turns),
        fmean(turn.prompt_tokens for turn in turns),
        fmean(turn.answer_tokens for turn in turns),
        p50,
        p95,
    )
