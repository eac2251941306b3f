"""From which certainty on an answer from memory is given and not looked up first: where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, tanh

import numpy as np

from quizglass_lab.logistic_regression import regression

LOOKED_UP = 0.9
"""How often an answer is right once its question is looked up: that of 39 questions of three worlds which the planner
left to memory, and whose answer's least probable token had 0.53 to 0.70; 26 of those from memory were right."""
COST = 0.2
"""What a look costs, in right answers: it is made where it brings more than one in five."""
_SUREST = 1e-4
_DECAY = 1e-3
_FEWEST = 20
"""Of right and of wrong answers, to be fitted to."""


def memory_threshold(probabilities: Sequence[float], right: Sequence[bool]) -> dict[str, object]:
    """A bundle's `memory_accept`, and what it makes of the answers it is fitted to; nothing of too few answers.

    It is the least token probability at which a logistic regression on its log odds has an answer right with
    LOOKED_UP - COST.

    Args:
        probabilities: the least token probability of each answer from memory.
        right: whether each is.
    """
    known = np.array(right, bool)
    if min(known.sum(), (~known).sum()) < _FEWEST:
        return {}
    least = np.clip(np.array(probabilities), _SUREST, 1 - _SUREST)
    weights, bias = regression(np.log(least / (1 - least))[:, None], known.astype(np.int64), 2, _DECAY)
    slope, offset = float(weights[1, 0] - weights[0, 0]), float(bias[1] - bias[0])
    if slope <= 0:  # the surest answers are right no more often than the others
        return {}
    worth = LOOKED_UP - COST
    odds = (log(worth / (1 - worth)) - offset) / slope
    accept = (1 + tanh(odds / 2)) / 2  # the logistic function; by its exponential it would overflow
    told = least >= accept
    return {
        "memory_accept": round(accept, 5),
        "memory": {
            "answers": len(known),
            "right": round(float(known.mean()), 4),
            "given": round(float(told.mean()), 4),
            "right_of_given": round(float(known[told].mean()), 4) if told.any() else 0.0,
        },
    }
