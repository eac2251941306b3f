"""QA-Dragon's white-box verifier: the line over (p_min, p_mean) that earns most with right 1, missing 0, wrong -1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.recipes.served_answers import JudgedAnswer
from quizglass_lab.finetuning.shared.options import Options
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import read_rows
from quizglass_lab.scoring.answers import refuses
from quizglass_lab.scoring.certainty import Floats, Line, fitted

BINS = 10


class VerifierLineTraining(Options):
    """QA-Dragon's verifier line over (p_min, p_mean), fitted for right 1, missing 0, wrong -1; with a plot."""

    turns: Path = Field(description="turns.jsonl, as annotate verifier-line or qa-dragon writes it")
    out: Path = Field(description="folder for line.json and reliability.png")
    folds: int = Field(5, ge=2, description="parts, each measured with the line of the others")
    seed: int = Field(0, ge=0, description="of the parts")


def fit(options: VerifierLineTraining, progress: Progress) -> dict[str, Any]:
    """Fit, measure by cross-validation, write line and plot."""
    every = read_rows(options.turns, JudgedAnswer)
    turns = [turn for turn in every if not refuses(turn.answer)]  # the others are missing already, whatever the line
    if turns and not any(turn.p_mean for turn in turns):
        raise ExportError(
            f"{options.turns}: p_mean: no answer has probabilities; annotate with a model that tells them"
        )
    if len(turns) < options.folds:
        raise ExportError(f"{options.turns}: {len(turns)} answers; {options.folds} parts need at least as many")
    points = np.array([[turn.p_min, turn.p_mean] for turn in turns])
    right = np.array([turn.answer_right for turn in turns])
    said, earned = fitted(points, right, options.folds, options.seed)
    line = Line(**said)
    options.out.mkdir(parents=True, exist_ok=True)
    measured = {"answers": len(turns), "refused_by_the_model": len(every) - len(turns), **earned}
    content = {"line": said, "cross_validated": measured}
    (options.out / "line.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    _plot(points @ np.array([line.p_min, line.p_mean]), right, line, options.out / "reliability.png")
    return {"line": said, **measured, "out": str(options.out)}


def reliability(scores: Floats, right: NDArray[np.bool_]) -> list[tuple[float, float, int]]:
    """(mean score, share right, count) of each tenth of the range of scores that has answers."""
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    rows: Sequence[int] = sorted(set(bins.tolist()))
    return [(float(scores[bins == b].mean()), float(right[bins == b].mean()), int((bins == b).sum())) for b in rows]


def _plot(scores: Floats, right: NDArray[np.bool_], line: Line, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    rows = reliability(scores, right)
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes.plot([row[0] for row in rows], [row[1] for row in rows], marker="o")
    for mean, share, count in rows:
        axes.annotate(str(count), (mean, share), textcoords="offset points", xytext=(4, 4), fontsize=8)
    axes.axvline(line.least, linestyle="--", color="0.3")
    axes.set(
        xlabel=f"{line.p_min:.2f} p_min + {line.p_mean:.2f} p_mean", ylabel="share right", xlim=(0, 1), ylim=(0, 1)
    )
    figure.savefig(path, dpi=120)
