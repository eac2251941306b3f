"""QA-Dragon's search router: a linear decider over the signs of a draft, by multinomial logistic regression."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch.nn import functional

from quizglass_export.errors import ExportError
from quizglass_export.finetuning.recipes.qa_dragon import DragonTurn
from quizglass_export.finetuning.shared.options import Options
from quizglass_export.finetuning.shared.progress import Progress
from quizglass_export.finetuning.shared.records import read_rows
from quizglass_server.policies.qa_dragon import Branch
from quizglass_server.policies.qa_dragon_signs import SIGNS

FEATURES = (*SIGNS, "p_min", "p_mean")
LABELS = tuple(branch.value for branch in Branch)


class SearchRouterTraining(Options):
    """QA-Dragon's search router: logistic regression over the server's own signs; writes a `linear` decider."""

    turns: Path = Field(description="turns.jsonl, as annotate qa-dragon writes it")
    out: Path = Field(description="JSON file for `linear` of roles.deciders.search_router")
    decay: float = Field(0.01, ge=0, description="weight of the squared weights in the loss")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of the turns that is measured on, then fitted on too")
    seed: int = Field(0, ge=0, description="of what is kept back")


def fit(options: SearchRouterTraining, progress: Progress) -> dict[str, Any]:
    """Fit on a part, measure on the rest, fit on all, and write the decider."""
    turns = read_rows(options.turns, DragonTurn)
    there = {turn.branch for turn in turns}
    if len(there) < 2:
        raise ExportError(
            f"{options.turns}: branch: all turns are {', '.join(there) or 'missing'}; nothing to tell apart"
        )
    values = np.array([[turn.features[name] for name in FEATURES] for turn in turns])
    wanted = np.array([LABELS.index(turn.branch) for turn in turns])
    order = np.random.default_rng(options.seed).permutation(len(turns))
    cut = max(1, round(len(turns) * options.held_out))
    tested, trained = order[:cut], order[cut:]
    weights, bias = regression(values[trained], wanted[trained], options.decay)
    right = (values[tested] @ weights.T + bias).argmax(1) == wanted[tested]
    weights, bias = regression(values, wanted, options.decay)
    decider = {
        "features": list(FEATURES),
        "labels": list(LABELS),
        "weights": [[round(float(x), 5) for x in row] for row in weights],
        "bias": [round(float(x), 5) for x in bias],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(decider, indent=1) + "\n", encoding="utf-8")
    commonest = Counter(wanted.tolist()).most_common(1)[0][1] / len(turns)
    return {
        "turns": len(turns),
        "right": float(right.mean()),
        "always_the_commonest": commonest,
        "out": str(options.out),
    }


def regression(values: Any, wanted: Sequence[int] | Any, decay: float) -> tuple[Any, Any]:
    """Weights [labels, features] and bias [labels] of the least cross-entropy with squared weights."""
    inputs, labels = torch.tensor(values, dtype=torch.float64), torch.tensor(wanted)
    weights = torch.zeros(len(LABELS), inputs.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(LABELS), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        total = functional.cross_entropy(inputs @ weights.T + bias, labels) + decay * (weights**2).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimiser.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach().numpy(), bias.detach().numpy()
