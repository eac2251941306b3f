"""The planning agent's paper: the share of each plan, and the searching that planning saves against OmniSearch.

Searches cost the paper's 6.4 s (picture) and 1.4 s (text), a plan its 1.65 s, whatever they took here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quizglass_lab.reporting.answers.judged import Runs, ScoredAnswer
from quizglass_lab.reporting.answers.measured import Measured, mean
from quizglass_lab.scoring.costs import IMAGE_SEARCH_S, PLAN_S, TEXT_SEARCH_S
from quizglass_lab.scoring.intervals import interval_of

PLANNER, ITERATIVE = "planning-agent", "omnisearch"
SHARE = "plan share"
_PLANS = ("none", "image", "text", "both")
_FIXED = (*_PLANS, "no-search", "always-image", "always-text", "always-both")
"""Rows of these names always plan the same."""
_SAVED: dict[str, tuple[float, float, float]] = {
    "saved: search time": (IMAGE_SEARCH_S, TEXT_SEARCH_S, 0.0),
    "saved: search and planning time": (IMAGE_SEARCH_S, TEXT_SEARCH_S, PLAN_S),
    "saved: image searches": (1.0, 0.0, 0.0),
    "saved: text searches": (0.0, 1.0, 0.0),
}
"""By metric the weight of an image search, of a text search and of a plan."""
NEEDS = {
    "judge": "a model that grades answers (--judge)",
    SHARE: "`plan` of each answer",
    **dict.fromkeys(_SAVED, f"answers of both {PLANNER} and {ITERATIVE}, with the number of their searches"),
}
Array = NDArray[np.float64]


def figures(runs: Runs) -> list[Measured]:
    """Of every system with plans the share of each; the planning agent's savings where OmniSearch answered."""
    shares = [share for row, judged in runs.items() for share in _shares(row, judged)]
    iterative = runs.get(ITERATIVE, ())
    saved = [each for row in (PLANNER, f"{PLANNER}+") for each in _savings(row, runs.get(row, ()), iterative)]
    return [*shares, *saved]


def _shares(row: str, judged: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    plans = [each.answered.trace.plan for each in judged if each.answered.trace.plan]
    for plan in _PLANS if plans and row not in _FIXED else ():
        yield mean(row, SHARE, [float(each == plan) for each in plans], part=plan)


def _savings(row: str, planned: Sequence[ScoredAnswer], iterative: Sequence[ScoredAnswer]) -> Iterator[Measured]:
    """1 - planned / iterative over the same questions, which are resampled together for the interval."""
    searches = [
        (*one, *two)
        for one, two in zip(map(_searches, planned), map(_searches, iterative), strict=False)
        if one is not None and two is not None
    ]
    if not searches:
        return
    totals = np.array(searches, dtype=np.float64).mean(axis=0)[:, None]
    for metric, weights in _SAVED.items():
        saved = _saving(weights)
        value = float(saved(*totals)[0])
        if np.isfinite(value):
            low, high = interval_of(saved, searches)
            yield Measured(row, metric, 100 * value, len(searches), 100 * low, 100 * high)


def _searches(judged: ScoredAnswer) -> tuple[float, float] | None:
    cost = judged.answered.cost
    if cost.image_searches is None or cost.text_searches is None:
        return None
    return float(cost.image_searches), float(cost.text_searches)


def _saving(weights: tuple[float, float, float]) -> Callable[..., Array]:
    image, text, plan = weights

    def saved(image_planned: Array, text_planned: Array, image_other: Array, text_other: Array) -> Array:
        before = image * image_other + text * text_other
        after = image * image_planned + text * text_planned + plan
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 - after / before

    return saved
