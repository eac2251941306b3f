"""QA-Dragon's search router as a linear decider: its features of a draft, its choices, and its file."""

from __future__ import annotations

import json
from pathlib import Path

from quizglass_lab.logistic_regression import Floats
from quizglass_server.policies.qa_dragon import Branch
from quizglass_server.steps.signs import SIGNS

FEATURES = (*SIGNS, "p_min", "p_mean")
"""Names of the features, as `signs.features` gives them."""
BRANCHES = tuple(branch.value for branch in Branch)


def branch_of(*, right: bool, to_look_up: bool) -> Branch:
    """What a draft needs: searches where it is wrong, a check where it is right about what has to be looked up."""
    if not right:
        return Branch.RAG
    return Branch.VERIFY if to_look_up else Branch.DIRECT


def write_router(path: Path, weights: Floats, bias: Floats) -> None:
    """Write the JSON file that `linear` of `roles.deciders.search_router` names.

    Args:
        path: its folders are made.
        weights: [branches, features].
        bias: [branches].
    """
    decider = {
        "features": list(FEATURES),
        "labels": list(BRANCHES),
        "weights": weights.round(5).tolist(),
        "bias": bias.round(5).tolist(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(decider, indent=1) + "\n", encoding="utf-8")
