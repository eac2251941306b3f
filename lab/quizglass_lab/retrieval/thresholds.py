"""Recalls, and where to draw the line between scores of known and of unknown things."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quizglass_lab.logistic_regression import regression

Report = dict[str, Any]
KEPT_SHARE = 0.99
"""Share of right results kept: a right hit or passage that is rejected always costs the answer, a wrong one that is
accepted only sometimes, for whoever answers reads it."""
KEPT_PASSAGES = 0.999
"""Of right passages: a reranker's scores lie near 0 or 1, so that keeping these too lets in hardly any other."""
_DECAY = 1e-6


def recalls(ranks: Sequence[int]) -> Report:
    """Recall at 1 and 5 of the ranks (from 0) of the right answers."""
    values = np.asarray(ranks)
    at = {f"recall@{k}": round(float((values < k).mean()), 4) for k in (1, 5)}
    return {"count": len(values), **at}


def keeping_threshold(known: Sequence[float], unknown: Sequence[float], share: float) -> Report:
    """The score that `share` of the known reach, and how many of the unknown stay below it."""
    threshold = float(np.quantile(np.asarray(known), 1 - share))
    rejected = float((np.asarray(unknown) < threshold).mean())
    return {"threshold": round(threshold, 5), "kept": share, "rejected": round(rejected, 4)}


def match_of(right: Sequence[tuple[float, float]], wrong: Sequence[tuple[float, float]]) -> Report | None:
    """A bundle's `support_match`: how much likelier a first hit is the right one than a usual right one is.

    A logistic regression on the cosine and on what it goes before the next by. A cosine that three of four right ones
    reach says nothing more: how near the two pictures are then depends on how well the thing is shown. None where
    nothing tells right and wrong apart.

    Args:
        right: of right first hits, cosine and what it goes before the best other by.
        wrong: of wrong ones.
    """
    if not right or not wrong:
        return None
    points = np.array([*right, *wrong], np.float64)
    cosines, ahead = np.array(right, np.float64).T
    most, usual = np.quantile(cosines, 0.25), np.median(ahead)
    points[:, 0] = np.minimum(points[:, 0], most)
    labels = np.repeat(np.array([1, 0]), [len(right), len(wrong)])
    weights, _ = regression(points, labels, 2, _DECAY)
    similarity, margin = (weights[1] - weights[0]).tolist()
    if min(similarity, margin) < 0:
        return None
    numbers = {"similarity": similarity, "margin": margin, "offset": -similarity * most - margin * usual, "most": most}
    return {name: round(float(number), 5) for name, number in numbers.items()}


def best_threshold(known: Sequence[float], unknown: Sequence[float]) -> Report:
    """The score that splits the two best, each counted equally, and what it keeps and rejects."""
    wanted, unwanted = np.asarray(known), np.asarray(unknown)
    options = np.unique(np.concatenate((wanted, unwanted)))
    shares = [((wanted >= t).mean() + (unwanted < t).mean()) / 2 for t in options]
    best = float(options[int(np.argmax(shares))])
    return {
        "threshold": round(best, 5),
        "kept": round(float((wanted >= best).mean()), 4),
        "rejected": round(float((unwanted < best).mean()), 4),
        "known_5%": round(float(np.quantile(wanted, 0.05)), 5),
        "unknown_95%": round(float(np.quantile(unwanted, 0.95)), 5),
    }
