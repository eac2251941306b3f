"""QA-Dragon's search router: a logistic regression on the signs of drafts that the trained base writes.

A draft that is right needs nothing where the picture tells, a check where it comes from memory, and searches where it
is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_lab.logistic_regression import regression
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.scoring.answers import exact_match
from quizglass_lab.search_router import BRANCHES, FEATURES, branch_of, write_router
from quizglass_lab.starter.data.examples import Encoder
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.model.vlm import Model
from quizglass_lab.starter.stages.drafting import drafted
from quizglass_server.domain.state import Draft
from quizglass_server.policies.qa_dragon import Branch
from quizglass_server.steps.signs import features, signs

MOST_QUESTIONS = 6000
_DECAY = 1e-3
DIRECT_ACCEPT = 0.5
"""A bundle's `direct_accept`: direct answers are not checked; they have to be likelier than all else together."""


def table(
    model: Model, encoder: Encoder, asked: Asked, rows: Sequence[int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Features [N, F] and branches [N] of the base's drafts."""
    values: list[list[float]] = []
    branches: list[int] = []
    for own in drafted(model, encoder, asked, rows):
        draft = Draft(own.draft, own.probabilities)
        numbers = features(draft, signs(draft, list(own.steps)))
        values.append([numbers[name] for name in FEATURES])
        branches.append(BRANCHES.index(needed(asked.questions[own.row], own.draft).value))
    return np.array(values), np.array(branches)


def needed(question: Question, draft: str) -> Branch:
    """What a draft needs, by the record; one about a question that nothing answers is never right."""
    right = question.group is not None and exact_match(draft, question.answer, question.aliases)
    return branch_of(right=right, to_look_up=bool(question.hops))


def train_router(model: Model, encoder: Encoder, asked: Asked, tests: Asked, path: Path) -> dict[str, object]:
    """Fit on drafts about `asked`, write the weights to `path`, and measure on `tests`."""
    count = min(MOST_QUESTIONS, len(asked.questions))
    rows = sorted(random.Random(6).sample(range(len(asked.questions)), count))
    weights, bias = regression(*table(model, encoder, asked, rows), len(BRANCHES), _DECAY)
    write_router(path, weights, bias)
    values, branches = table(model, encoder, tests, range(min(MOST_QUESTIONS, len(tests.questions))))
    chosen = (values @ weights.T + bias).argmax(-1)
    confusion = {
        right: {name: int(((branches == i) & (chosen == j)).sum()) for j, name in enumerate(BRANCHES)}
        for i, right in enumerate(BRANCHES)
    }
    accuracy = round(float((chosen == branches).mean()), 4)
    return {
        "accuracy": accuracy,
        "confusion": confusion,
        "direct_accept": DIRECT_ACCEPT,
        "questions": len(rows),
    }
