"""From which score on a sentence is quoted, chosen on notes that the reranker did not learn from.

"I don't know" costs nothing, a wrong answer `WRONG` times what a right one is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quizglass_lab.answering.measuring import WeighedQuestion

LINES = tuple(round(0.3 + 0.02 * step, 2) for step in range(35))
"""Least scores of an answer that are compared."""
WRONG = 2.0
"""What a wrong answer costs, in right ones: a listener takes it for what the note says."""
OPEN = 0.2
"""Share of a person's questions that the notes leave open; of the held-out notes' it is larger."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A line, and what comes of the questions with it, if `OPEN` of them are open."""

    accept: float
    right: float
    """Share of the questions that are answered or refused rightly."""
    wrong: float
    """Share that is answered wrongly."""


def calibrated(weighed: Sequence[WeighedQuestion]) -> Calibration:
    """The line that is worth most, for questions of both kinds with the reranker's scores."""
    found = [_outcome(weighed, accept) for accept in LINES]
    return max(found, key=lambda each: (round(each.right - WRONG * each.wrong, 3), each.accept))


def _outcome(weighed: Sequence[WeighedQuestion], accept: float) -> Calibration:
    right, wrong = 0.0, 0.0
    open_count = sum(not each.asked.answers for each in weighed)
    shares = (1 - OPEN) / max(1, len(weighed) - open_count), OPEN / max(1, open_count)
    for each in weighed:
        best = int(np.argmax(each.scores))
        told, share = each.scores[best] >= accept, shares[not each.asked.answers]
        right += share * (best in each.asked.answers if told else not each.asked.answers)
        wrong += share * (told and best not in each.asked.answers)
    return Calibration(accept, round(right, 4), round(wrong, 4))
