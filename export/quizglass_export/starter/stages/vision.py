"""Stage 1: the vision tower and merger learn to see, from labels, before any language.

Small heads read the 16 merged picture tokens: per slot what stands there (kind, colours, pattern, shape, and which of
the recognised things it is, or none), how many things there are, and for every token its own place.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from quizglass_export.starter.data import pictures
from quizglass_export.starter.loop.schedule import Schedule, optimiser, resume, save_progress
from quizglass_export.starter.model.precision import autocast
from quizglass_export.starter.model.vlm import HIDDEN, PICTURE_TOKENS, Model, picture_features

_log = logging.getLogger(__name__)
_WEIGHTS = {"kind": 0.5, "body": 0.5, "accent": 0.4, "pattern": 0.4, "shape": 0.6, "identity": 1.5}
Shard = tuple[NDArray[np.uint8], NDArray[np.int64]]
HELD_OUT_SHARDS = 1
_BATCH = 64
_RATE = 1.2e-3
_LOG_EVERY, _SAVE_EVERY = 100, 1000  # steps


class SceneHeads(nn.Module):
    """Reads labels off picture tokens; thrown away after the stage."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(PICTURE_TOKENS, HIDDEN) * 0.5)
        self.queries = nn.Parameter(torch.randn(len(pictures.SLOTS) + 1, HIDDEN) * HIDDEN**-0.5)
        self.keys = nn.Linear(HIDDEN, HIDDEN)
        self.heads = nn.ModuleDict({name: nn.Linear(HIDDEN, size) for name, size in pictures.label_sizes().items()})
        self.count = nn.Linear(HIDDEN, len(pictures.SLOTS))
        self.place = nn.Linear(HIDDEN, PICTURE_TOKENS)

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        """[B, 16, 192] to logits: per label [B, 3 slots, classes], `count` [B, 3], `place` [B, 16, 16]."""
        weights = (self.queries @ (self.keys(features) + self.places).transpose(1, 2) * 0.3).softmax(-1)
        pooled = weights.to(features.dtype) @ features
        slots, whole = pooled[:, :-1], pooled[:, -1]
        scores = {name: head(slots) for name, head in self.heads.items()}
        return {**scores, "count": self.count(whole), "place": self.place(features)}


def loss_and_hits(scores: dict[str, Tensor], labels: Tensor) -> tuple[Tensor, dict[str, float]]:
    """Weighted cross-entropy, and the share right of each label (identity also among the recognised only)."""
    total = scores["count"].new_zeros((), dtype=torch.float32)
    hits: dict[str, float] = {}
    for column, (name, weight) in enumerate(_WEIGHTS.items()):
        target = labels[..., column]
        flat = scores[name].float().flatten(0, 1)
        total = total + weight * F.cross_entropy(flat, target.flatten(), ignore_index=pictures.ABSENT)
        right, there = scores[name].argmax(-1) == target, target != pictures.ABSENT
        hits[name] = float(right[there].float().mean())
        if name == "identity":
            known = there & (target < flat.shape[-1] - 1)
            hits["recognised"] = float(right[known].float().mean())
            hits["strangers"] = float(right[there & ~known].float().mean())
    count = (labels[..., 0] != pictures.ABSENT).sum(1) - 1
    total = total + 0.3 * F.cross_entropy(scores["count"].float(), count)
    hits["count"] = float((scores["count"].argmax(-1) == count).float().mean())
    places = torch.arange(PICTURE_TOKENS).repeat(labels.shape[0])
    total = total + 0.3 * F.cross_entropy(scores["place"].float().flatten(0, 1), places)
    return total, hits


def _batch(shards: Sequence[Shard], size: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    images, labels = shards[int(rng.integers(len(shards)))]
    rows = np.sort(rng.choice(len(images), size, replace=False))
    return torch.from_numpy(images[rows]), torch.from_numpy(labels[rows])


@torch.no_grad()
def evaluate(model: Model, heads: SceneHeads, folder: Path, count: int = 1500) -> dict[str, float]:
    """Accuracies over the held-out shard."""
    images, labels = pictures.load_shards(folder)[0]
    sums: dict[str, list[float]] = {}
    for start in range(0, min(count, len(images)), 250):
        features = picture_features(model, torch.from_numpy(np.array(images[start : start + 250])))
        _, hits = loss_and_hits(heads(features), torch.from_numpy(labels[start : start + 250]))
        for name, value in hits.items():
            sums.setdefault(name, []).append(value)
    return {name: round(float(np.mean(values)), 4) for name, values in sums.items()}


def train_vision(model: Model, folder: Path, minutes: float) -> dict[str, float]:
    """Train tower and merger in place for `minutes`; resumable from `folder`.

    Returns:
        Held-out accuracies.
    """
    torch.manual_seed(11)
    heads = SceneHeads()
    both = nn.ModuleDict({"visual": model.model.visual, "heads": heads})
    optimizer = optimiser(both, _RATE, decay=0.03)
    schedule = Schedule(minutes, _RATE, warm_up=0.04)
    resume(folder, both, optimizer, schedule)
    rng = np.random.default_rng(schedule.steps + 1)
    shards, looked = [], 0.0
    averages: dict[str, float] = {}
    while schedule.step(optimizer, f"loss {averages.get('loss', 0.0):.3f}"):
        if time.monotonic() - looked > 20:
            shards, looked = pictures.load_shards(folder, HELD_OUT_SHARDS), time.monotonic()
        images, labels = _batch(shards, _BATCH, rng)
        with autocast():
            loss, hits = loss_and_hits(heads(picture_features(model, images)), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(both.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        for name, value in {"loss": float(loss), **hits}.items():
            averages[name] = 0.98 * averages.get(name, value) + 0.02 * value
        if schedule.steps % _LOG_EVERY == 0:
            shown = " ".join(f"{name} {value:.3f}" for name, value in averages.items())
            _log.info("vision step %d %s shards %d %s", schedule.steps, schedule.progress(), len(shards), shown)
        if schedule.steps % _SAVE_EVERY == 0:
            save_progress(folder, both, optimizer, schedule)
    save_progress(folder, both, optimizer, schedule)
    return evaluate(model, heads, folder)
