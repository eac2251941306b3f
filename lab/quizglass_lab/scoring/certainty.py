"""When an answer is given: a line over the least and the mean probability of its tokens, fitted to what it earns."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

DIRECTIONS = 91
"""Number of directions of the line that are tried, from p_mean alone to p_min alone."""
_BEYOND = 0.01
"""How far past the best score a line lies that refuses everything: further than figures are rounded."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """An answer is given where p_min x `p_min` + p_mean x `p_mean` is at least `least`; the weights add up to 1."""

    p_min: float
    p_mean: float
    least: float

    def accepts(self, points: Floats) -> NDArray[np.bool_]:
        """Whether each answer is given, bool [N], for points [N, 2] of p_min and p_mean."""
        return np.asarray(points @ np.array([self.p_min, self.p_mean]) >= self.least - 1e-12)


def best_line(points: Floats, right: NDArray[np.bool_]) -> Line:
    """The line of most points; of equal ones the first direction and the smallest `least`, which refuses least.

    Args:
        points: [N, 2], p_min and p_mean.
        right: [N].
    """
    best, chosen = -np.inf, Line(0.0, 1.0, 0.0)
    for share in np.linspace(0, 1, DIRECTIONS):
        scores = points @ np.array([share, 1 - share])
        order = np.argsort(scores, kind="stable")
        values = scores[order]
        # What giving every answer from this one on earns; equal scores stand or fall together.
        earned = np.append(np.cumsum(np.where(right[order], 1, -1)[::-1])[::-1], 0)
        first = np.append(np.append(True, values[1:] > values[:-1] + 1e-12), True)
        places = np.flatnonzero(first)
        place = places[int(earned[places].argmax())]
        if earned[place] > best:
            above = values[place] if place < len(values) else values[-1] + _BEYOND
            below = values[place - 1] if place else 0.0
            best, chosen = (
                earned[place],
                Line(float(share), float(1 - share), float((above + below) / 2) if place else 0.0),
            )
    return chosen


def given(points: Floats, right: NDArray[np.bool_], folds: int, seed: int) -> NDArray[np.bool_]:
    """Whether each answer is given by the line of the other parts, bool [N].

    Args:
        points: [N, 2], p_min and p_mean.
        right: [N].
        folds: how many parts there are.
        seed: of the parts.
    """
    part = np.random.default_rng(seed).permutation(len(points)) % folds
    kept = np.zeros(len(points), bool)
    for fold in range(folds):
        kept[part == fold] = best_line(points[part != fold], right[part != fold]).accepts(points[part == fold])
    return kept


def earnings(right: NDArray[np.bool_], kept: NDArray[np.bool_]) -> dict[str, float]:
    """What answers earn with right 1, missing 0, wrong -1, and how many are given."""
    return {
        "truthfulness_of_all": float(np.where(right, 1, -1).mean()),
        "truthfulness": float((np.where(right, 1, -1) * kept).mean()),
        "given": float(kept.mean()),
        "right_of_given": float(right[kept].mean()) if kept.any() else 0.0,
    }


def fitted(
    points: Floats, right: NDArray[np.bool_], folds: int, seed: int
) -> tuple[dict[str, float], dict[str, float]]:
    """The best line as a bundle has it (`thresholds.line`), and what it earns, measured by cross-validation as `given`.

    Args:
        points: [N, 2], p_min and p_mean; at least `folds`.
        right: [N].
        folds: parts, each measured with the line of the others.
        seed: of the parts.
    """
    line = asdict(best_line(points, right))
    return {name: round(value, 6) for name, value in line.items()}, earnings(right, given(points, right, folds, seed))
