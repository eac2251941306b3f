"""What answers cost: searches, tokens and time, over many turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

IMAGE_SEARCH_S, TEXT_SEARCH_S, PLAN_S = 6.4, 1.4, 1.65
"""One search of the open web by picture and by text, and one plan, as the planning agent's paper measured them."""


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What one turn cost; None stands for what is not known."""

    image_searches: int | None = None
    text_searches: int | None = None
    prompt_tokens: int | None = None
    """Prompt tokens of all models that the turn asked."""
    answer_tokens: int | None = None
    seconds: float | None = None
    written_tokens: int | None = None
    """Tokens of all that was written: the answer, and the queries, drafts and reasons before it."""

    @property
    def search_s(self) -> float | None:
        """Seconds of searching at the planning agent's tariff."""
        if self.image_searches is None or self.text_searches is None:
            return None
        return self.image_searches * IMAGE_SEARCH_S + self.text_searches * TEXT_SEARCH_S


@dataclass(frozen=True, slots=True)
class CostFigure:
    """One figure over the turns that tell what it is of."""

    name: str
    value: float
    unit: str
    """"a turn" or "s"."""
    count: int
    """How many turns tell it."""


_FIGURES: tuple[tuple[str, str, Callable[[TurnCost], float | None], Callable[[Sequence[float]], float]], ...] = (
    ("image searches", "a turn", lambda turn: turn.image_searches, fmean),
    ("text searches", "a turn", lambda turn: turn.text_searches, fmean),
    (f"search time at {IMAGE_SEARCH_S} s and {TEXT_SEARCH_S} s", "s", lambda turn: turn.search_s, fmean),
    ("prompt tokens of all models", "a turn", lambda turn: turn.prompt_tokens, fmean),
    ("answer tokens", "a turn", lambda turn: turn.answer_tokens, fmean),
    ("written tokens", "a turn", lambda turn: turn.written_tokens, fmean),
    ("latency", "s", lambda turn: turn.seconds, fmean),
    ("latency p50", "s", lambda turn: turn.seconds, lambda values: float(np.quantile(values, 0.5))),
    ("latency p95", "s", lambda turn: turn.seconds, lambda values: float(np.quantile(values, 0.95))),
)


def cost_figures(turns: Sequence[TurnCost]) -> list[CostFigure]:
    """Means, and of the latency its median and its 95th percentile too; no figure where no turn has the value."""
    figures = []
    for name, unit, told, over in _FIGURES:
        values = [value for turn in turns if (value := told(turn)) is not None]
        if values:
            figures.append(CostFigure(name, over(values), unit, len(values)))
    return figures
