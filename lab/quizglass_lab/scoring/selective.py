"""Answering only what one is sure of: the risk that is left at every share of the questions answered."""

from __future__ import annotations

from collections.abc import Sequence


def risk_coverage_area(confidences: Sequence[float], rights: Sequence[bool]) -> float:
    """Area under the risk-coverage curve (El-Yaniv and Wiener, 2010), 0 to 1; lower is better.

    The mean, over all coverages 1/n to 1, of the share of wrong answers among the surest; questions of one confidence
    count as in any order, by their mean.

    Args:
        confidences: one for each answer; only their order counts.
        rights: whether each is right.

    Raises:
        ValueError: none, or another number of the two.
    """
    if not confidences or len(confidences) != len(rights):
        raise ValueError(f"confidences: {len(confidences)} for {len(rights)} answers; expected one for each")
    wrong_of = dict.fromkeys(sorted(confidences, reverse=True), 0)
    count_of = dict.fromkeys(wrong_of, 0)
    for confidence, right in zip(confidences, rights, strict=True):
        wrong_of[confidence] += not right
        count_of[confidence] += 1
    area = answered = wrong = 0.0
    for confidence, count in count_of.items():
        share = wrong_of[confidence] / count
        for place in range(1, count + 1):
            area += (wrong + share * place) / (answered + place)
        answered += count
        wrong += wrong_of[confidence]
    return area / len(confidences)
