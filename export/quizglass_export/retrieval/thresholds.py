"""Recalls, and where to draw the line between scores of known and of unknown things."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Report = dict[str, Any]
KEPT_SHARE = 0.99
"""Of what is right: a right hit or passage that is rejected always costs the answer, a wrong one that is accepted only
sometimes, for whoever answers reads it."""
KEPT_PASSAGES = 0.999
"""Of right passages: a reranker's scores lie near 0 or 1, so that keeping these too lets in hardly any other."""


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
