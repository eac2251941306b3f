"""Where to draw the line between the scores of right and of wrong results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import floor, inf

LEAST_REFUSED = 0.5
"""Share of the others that a useful value refuses: one that lets most of them pass draws no line."""
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Scores:
    """What searches gave: to what is right, to other entries, and at best to pictures that show nothing, by name."""

    right: Sequence[float]
    others: Sequence[float]
    plain: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A threshold, and what it would do to the scores that it comes from; shares from 0 to 1."""

    value: float
    right_kept: float
    others_refused: float
    plain_passed: tuple[str, ...]
    """Names of the pictures that show nothing and would still be taken for something."""


def propose(scores: Scores, keep: float) -> Proposal:
    """The threshold that keeps at least the share `keep` of the right scores and refuses all plain pictures.

    Between the two it lies where it tells right ones from others best, each counted equally; of several such places in
    the widest gap. Where no threshold does both, keeping comes first.

    Raises:
        ValueError: there is no right score.
    """
    if not scores.right:
        raise ValueError("no right scores")
    ceiling = sorted(scores.right)[int(len(scores.right) * (1 - keep) + 1e-9)]
    plain = max(scores.plain.values(), default=-inf)
    edges = {ceiling, *(score for score in (*scores.right, *scores.others, *scores.plain.values()) if score >= plain)}
    return _judged(scores, _best_gap(scores, sorted(edge for edge in edges if edge <= ceiling)))


def tells_apart(scores: Scores, proposal: Proposal) -> bool:
    """Whether a value is of use by its own figures: it refuses most of the others, and every picture of nothing."""
    if proposal.plain_passed:
        return False
    return proposal.others_refused >= LEAST_REFUSED if scores.others else bool(scores.plain)


def _best_gap(scores: Scores, edges: Sequence[float]) -> float:
    """The middle of the best gap between two of these, or the only one."""

    def merit(gap: tuple[float, float]) -> tuple[bool, float, float]:
        judged = _judged(scores, sum(gap) / 2)  # in a gap of less than a digit a plain picture could pass
        return not judged.plain_passed, judged.right_kept + judged.others_refused, gap[1] - gap[0]

    gaps = list(pairwise(edges)) or [(edges[0], edges[0])]
    low, high = max(gaps, key=merit)
    return (low + high) / 2


def _judged(scores: Scores, value: float) -> Proposal:
    """Rounded down, so that a score that is the threshold itself is kept."""
    value = floor(value * 10**_DIGITS) / 10**_DIGITS
    kept = sum(score >= value for score in scores.right) / len(scores.right)
    refused = sum(score < value for score in scores.others) / max(1, len(scores.others))
    return Proposal(value, kept, refused, tuple(name for name, score in scores.plain.items() if score >= value))
