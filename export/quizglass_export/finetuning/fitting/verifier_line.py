"""QA-Dragon's white-box verifier: the line over (p_min, p_mean) that earns most with right 1, missing 0, wrong -1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from quizglass_export.errors import ExportError
from quizglass_export.finetuning.recipes.served_answers import JudgedAnswer
from quizglass_export.finetuning.shared.options import Options
from quizglass_export.finetuning.shared.progress import Progress
from quizglass_export.finetuning.shared.records import read_rows
from quizglass_export.scoring.answers import refuses

DIRECTIONS = 91
"""Of the line, from p_min alone to p_mean alone."""
BINS = 10
Floats = NDArray[np.float64]


class VerifierLineTraining(Options):
    """QA-Dragon's verifier line over (p_min, p_mean), fitted for right 1, missing 0, wrong -1; with a plot."""

    turns: Path = Field(description="turns.jsonl, as annotate verifier-line or qa-dragon writes it")
    out: Path = Field(description="folder for line.json and reliability.png")
    folds: int = Field(5, ge=2, description="parts, each measured with the line of the others")
    seed: int = Field(0, ge=0, description="of the parts")


@dataclass(frozen=True, slots=True)
class Line:
    """An answer is given where p_min x `p_min` + p_mean x `p_mean` is at least `least`; the weights add up to 1."""

    p_min: float
    p_mean: float
    least: float

    def accepts(self, points: Floats) -> NDArray[np.bool_]:
        """bool [N] of points [N, 2]."""
        return np.asarray(points @ np.array([self.p_min, self.p_mean]) >= self.least - 1e-12)


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
    line = best_line(points, right)
    kept = _cross_validated(points, right, options)
    options.out.mkdir(parents=True, exist_ok=True)
    measured = {
        "answers": len(turns),
        "refused_by_the_model": len(every) - len(turns),
        "truthfulness_of_all": float(np.where(right, 1, -1).mean()),
        "truthfulness": float((np.where(right, 1, -1) * kept).mean()),
        "given": float(kept.mean()),
        "right_of_given": float(right[kept].mean()) if kept.any() else 0.0,
    }
    said = {"p_min": round(line.p_min, 4), "p_mean": round(line.p_mean, 4), "least": round(line.least, 6)}
    content = {"line": said, "cross_validated": measured}
    (options.out / "line.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    _plot(points @ np.array([line.p_min, line.p_mean]), right, line, options.out / "reliability.png")
    return {"line": said, **measured, "out": str(options.out)}


def best_line(points: Floats, right: NDArray[np.bool_]) -> Line:
    """The line of most points; of equal ones the first direction and the smallest `least`, which refuses least.

    Args:
        points: [N, 2], p_min and p_mean.
        right: [N].
    """
    best, chosen = -np.inf, Line(0.0, 1.0, 0.0)
    for share in np.linspace(0, 1, DIRECTIONS):
        scores = points @ np.array([share, 1 - share])
        order = np.argsort(scores, kind="stable")
        values = scores[order]
        # What giving every answer from this one on earns; equal scores stand or fall together.
        earned = np.append(np.cumsum(np.where(right[order], 1, -1)[::-1])[::-1], 0)
        first = np.append(np.append(True, values[1:] > values[:-1] + 1e-12), True)
        places = np.flatnonzero(first)
        place = places[int(earned[places].argmax())]
        if earned[place] > best:
            above = values[place] if place < len(values) else values[-1] + 1e-6
            below = values[place - 1] if place else 0.0
            best, chosen = (
                earned[place],
                Line(float(share), float(1 - share), float((above + below) / 2) if place else 0.0),
            )
    return chosen


def _cross_validated(points: Floats, right: NDArray[np.bool_], options: VerifierLineTraining) -> NDArray[np.bool_]:
    """Whether each answer is given by the line of the other parts."""
    part = np.random.default_rng(options.seed).permutation(len(points)) % options.folds
    kept = np.zeros(len(points), bool)
    for fold in range(options.folds):
        kept[part == fold] = best_line(points[part != fold], right[part != fold]).accepts(points[part == fold])
    return kept


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
