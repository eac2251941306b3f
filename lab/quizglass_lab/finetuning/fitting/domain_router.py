"""QA-Dragon's domain router: a head over BLIP-2's Q-Former, which reads picture and question and stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from quizglass_export.directory import check_free, fresh_directory, place
from quizglass_export.errors import ExportError
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.recipes.questions import PartsOptions, QuestionOptions, inseparable, read_questions
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.logistic_regression import commonest_right, held_back, regression


class DomainRouterTraining(QuestionOptions, PartsOptions):
    """QA-Dragon's domain router: a head over BLIP-2's Q-Former, fitted on a data set's own domains."""

    checkpoint: Path = Field(description="BLIP-2 for image-text retrieval, as transformers writes it")
    held_out: float = Field(
        0.05, gt=0, lt=1, description="share of the things asked about that is measured on, then fitted on too"
    )
    ask_batch: int = Field(8, ge=1, description="questions and pictures that are read at once")
    decay: float = Field(1e-4, ge=0, description="weight of the squared weights in the loss")
    replace: bool = Field(False, description="replace what --out has")


def fit(options: DomainRouterTraining, progress: Progress) -> dict[str, Any]:
    """Fit the head, and write a folder that `roles.domain_router.checkpoint` can name."""
    from safetensors.numpy import save_file  # heavy from here on: --help needs none of it

    from quizglass_export.checkpoints.files import CLASSIFIER
    from quizglass_lab.finetuning.fitting.q_former_states import q_former_states

    samples = [each for each in read_questions(options).values() if each.domain and each.pictures]
    labels = sorted({sample.domain for sample in samples})
    if len(labels) < 2:
        raise ExportError(f"{options.data[0]}: domain: questions of at least two domains are needed, with pictures")
    check_free(options.out, options.replace)
    tick = progress.phase("looking", len(samples))
    states = q_former_states(options.checkpoint, samples, options.ask_batch, options.out, tick)
    wanted = np.array([labels.index(sample.domain) for sample in samples])
    tested = _held_out(samples, options.held_out, options.seed)
    trained = tested if tested.all() else ~tested
    weights, bias = regression(states[trained], wanted[trained], len(labels), options.decay)
    right = (states[tested] @ weights.T + bias).argmax(1) == wanted[tested]
    weights, bias = regression(states, wanted, len(labels), options.decay)
    with fresh_directory(options.out) as folder:
        for path in options.checkpoint.iterdir():
            if path.is_file() and path.name != CLASSIFIER:
                place(path, folder / path.name)
        head = {"weight": weights.astype(np.float32), "bias": bias.astype(np.float32)}
        save_file(head, str(folder / CLASSIFIER))
    return {
        "labels": labels,
        "questions": len(samples),
        "right": float(right.mean()),
        "always_the_commonest": commonest_right(wanted[trained], wanted[tested]),
    }


def _held_out(samples: Sequence[Sample], share: float, seed: int) -> NDArray[np.bool_]:
    """bool [N]: the samples that are measured on, whole groups, so that none is in both parts where there are two."""
    groups = inseparable(samples)
    names = sorted(set(groups))
    _, drawn = held_back(len(names), share, seed)
    return np.isin(groups, [names[place] for place in drawn])
