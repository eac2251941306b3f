"""QA-Dragon's search router: a linear decider over the signs of a draft, by multinomial logistic regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.recipes.qa_dragon import DragonTurn
from quizglass_lab.finetuning.shared.options import Options
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import read_rows
from quizglass_lab.logistic_regression import commonest_right, held_back, regression
from quizglass_lab.search_router import BRANCHES, FEATURES, write_router


class SearchRouterTraining(Options):
    """QA-Dragon's search router: logistic regression over the server's own signs; writes a `linear` decider."""

    turns: Path = Field(description="turns.jsonl, as annotate qa-dragon writes it")
    out: Path = Field(description="JSON file for `linear` of roles.deciders.search_router")
    decay: float = Field(0.01, ge=0, description="weight of the squared weights in the loss")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of the turns that is measured on, then fitted on too")
    seed: int = Field(0, ge=0, description="of the held-back part")


def fit(options: SearchRouterTraining, progress: Progress) -> dict[str, Any]:
    """Fit on a part, measure on the rest, fit on all, and write the decider."""
    turns = read_rows(options.turns, DragonTurn)
    there = {turn.branch.value for turn in turns}
    if len(there) < 2:
        raise ExportError(
            f"{options.turns}: branch: all turns are {', '.join(there) or 'missing'}; nothing to tell apart"
        )
    values = np.array([[turn.features[name] for name in FEATURES] for turn in turns])
    wanted = np.array([BRANCHES.index(turn.branch.value) for turn in turns])
    trained, tested = held_back(len(turns), options.held_out, options.seed)
    weights, bias = regression(values[trained], wanted[trained], len(BRANCHES), options.decay)
    right = (values[tested] @ weights.T + bias).argmax(1) == wanted[tested]
    weights, bias = regression(values, wanted, len(BRANCHES), options.decay)
    write_router(options.out, weights, bias)
    return {
        "turns": len(turns),
        "right": float(right.mean()),
        "always_the_commonest": commonest_right(wanted[trained], wanted[tested]),
        "out": str(options.out),
    }
