"""Stage 1: the vision tower and merger learn to see, from labels, before any language.

Small heads read each of the 16 merged picture tokens by itself: what its cell of the picture shows (kind or nothing,
colours, pattern, shape, and which of the recognised things it is, or none), and which cell it is.

A tower that language has been built on goes on without losing its words: the heads first learn to read it as it is, and
then teach it to write the same of other scenes, while what it says of scenes in slots is held where it was.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from quizglass_lab.starter.data import pictures
from quizglass_lab.starter.loop.schedule import Schedule, optimiser, resume, save_progress
from quizglass_lab.starter.loop.training import descend, on_device, shown
from quizglass_lab.starter.model.precision import autocast, device_of
from quizglass_lab.starter.model.sizes import TOKENS_SIDE
from quizglass_lab.starter.model.vlm import HIDDEN, PICTURE_TOKENS, Model, tower_features

logger = logging.getLogger(__name__)
_WEIGHTS = {"kind": 0.7, "body": 0.5, "accent": 0.4, "pattern": 0.4, "shape": 0.6, "identity": 1.5}
_PLACE_WEIGHT = 0.3
HELD_OUT_SHARDS = 1
"""Shards of each sort of scenes that are measured on and not trained on: the first ones."""
_BATCH = 64
_RATE, _FURTHER_RATE = 1.2e-3, 8e-4
_HEADS_FIRST = 0.12
"""Share of the time in which the heads learn to read a tower as it is."""
_HELD = 1.0
"""Weight of staying where it was, in shares of the variance of a tower's output."""
_LOG_EVERY, _SAVE_EVERY = 200, 1000
"""Steps between two lines of the log, and between two savings of the progress."""
_CPU = torch.device("cpu")


class CellHeads(nn.Module):
    """Reads labels off picture tokens; thrown away after the stage."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({name: nn.Linear(HIDDEN, size) for name, size in pictures.label_sizes().items()})
        self.place = nn.Linear(HIDDEN, PICTURE_TOKENS)

    def forward(self, features: Tensor) -> dict[str, Tensor]:
        """[B, 16, 192] to logits: per label [B, 16, classes], `place` [B, 16, 16]."""
        return {**{name: head(features) for name, head in self.heads.items()}, "place": self.place(features)}


def loss_and_hits(scores: dict[str, Tensor], labels: Tensor) -> tuple[Tensor, dict[str, float]]:
    """Weighted cross-entropy, and the share right of each label (identity also among the recognised only)."""
    places = torch.arange(PICTURE_TOKENS, device=labels.device).repeat(labels.shape[0])
    total = _PLACE_WEIGHT * F.cross_entropy(scores["place"].float().flatten(0, 1), places)
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
    return total, hits


class LabelledPictures:
    """Labelled pictures of both sorts of scenes, drawn from at random."""

    def __init__(
        self, folder: Path, counts: Mapping[str, int], seed: int, device: torch.device = _CPU, size: int = _BATCH
    ) -> None:
        """`counts` says how many shards there are of each sort; the first of each is held out.

        A GPU holds all of them.
        """
        self._rng = np.random.default_rng(seed)
        self._device = device
        self._size = size
        shards = [
            (sort, pictures.load_shard(folder, sort, index))
            for sort, count in counts.items()
            for index in range(HELD_OUT_SHARDS, count)
        ]
        self._shards = [(sort, on_device(images, device), labels) for sort, (images, labels) in shards]

    def batch(self, sort: str | None = None) -> tuple[str, Tensor, Tensor]:
        """Sort, pictures and labels; half of the batches are mirrored."""
        shards = [each for each in self._shards if sort in (None, each[0])]
        name, images, labels = shards[int(self._rng.integers(len(shards)))]
        rows = np.sort(self._rng.choice(len(images), min(self._size, len(images)), replace=False))
        seen, told = shown(images, rows, self._device), torch.from_numpy(labels[rows]).to(self._device)
        return (name, *mirrored(seen, told)) if self._rng.random() < 0.5 else (name, seen, told)


def mirrored(shown: Tensor, told: Tensor) -> tuple[Tensor, Tensor]:
    """Pictures [B, 112, 112, 3] and their cells' labels [B, 16, 6] with left and right exchanged."""
    cells = told.reshape(len(told), TOKENS_SIDE, TOKENS_SIDE, -1).flip(2)
    return shown.flip(2), cells.reshape(told.shape)


@torch.no_grad()
def evaluate(visual: Model, heads: CellHeads, folder: Path, count: int = 1500) -> dict[str, float]:
    """Accuracies over the held-out shards, by sort."""
    sums: dict[str, list[float]] = {}
    device = device_of(heads)
    for sort in pictures.SORTS:
        images, labels = pictures.load_shard(folder, sort, 0)
        for start in range(0, min(count, len(images)), 250):
            rows = np.arange(start, min(start + 250, len(images)))
            features = tower_features(visual, shown(images, rows, device))
            _, hits = loss_and_hits(heads(features), torch.from_numpy(labels[rows]).to(device))
            for name, value in hits.items():
                sums.setdefault(f"{sort}-{name}", []).append(value)
    return {name: round(float(np.mean(values)), 4) for name, values in sums.items()}


def train_vision(
    model: Model, folder: Path, counts: Mapping[str, int], minutes: float, *, further: bool = False, scale: int = 1
) -> dict[str, float]:
    """Train tower and merger in place; resumable from `folder`.

    Args:
        model: the base.
        folder: of the shards and of the progress.
        counts: of the shards, by sort.
        minutes: the budget, as `Schedule` counts it.
        further: whether language has been built on the tower.
        scale: how many times larger than on a CPU batches are.

    Returns:
        Held-out accuracies.
    """
    torch.manual_seed(11)
    visual, device = model.model.visual, device_of(model)
    heads = CellHeads().to(device)
    before = copy.deepcopy(visual).requires_grad_(False) if further else None
    both = nn.ModuleDict({"visual": visual, "heads": heads})
    rate = _FURTHER_RATE if further else _RATE
    optimizer = optimiser(both, rate, decay=0.03)
    schedule = Schedule(minutes, rate, device, warm_up=0.04)
    averages: dict[str, float] = resume(folder, both, optimizer, schedule)
    shards = LabelledPictures(folder, counts, schedule.steps + 1, device, _BATCH * scale)
    while schedule.step(optimizer, f"loss {averages.get('loss', 0.0):.3f}"):
        reading = further and schedule.part() < _HEADS_FIRST
        loss, hits = _step(visual, heads, before, shards, reading=reading)
        descend(both, optimizer, loss)
        for name, value in {**hits, "loss": loss.item()}.items():
            averages[name] = 0.98 * averages.get(name, value) + 0.02 * value
        if schedule.steps % _LOG_EVERY == 0:
            shown = " ".join(f"{name} {value:.3f}" for name, value in averages.items())
            logger.info("vision step %d %s %s", schedule.steps, schedule.progress(), shown)
        if schedule.steps % _SAVE_EVERY == 0:
            save_progress(folder, both, optimizer, schedule, averages)
    save_progress(folder, both, optimizer, schedule, averages)
    return evaluate(visual, heads, folder)


def _step(
    visual: Model, heads: CellHeads, before: Model | None, shards: LabelledPictures, *, reading: bool
) -> tuple[Tensor, dict[str, float]]:
    """Loss of a batch, and its hits by sort and label. `reading`: the tower stays as it is."""
    sort, images, labels = shards.batch("slots" if reading else None)
    with autocast(images.device.type):
        with torch.set_grad_enabled(not reading):
            features = tower_features(visual, images)
        loss, hits = loss_and_hits(heads(features), labels)
        if before is not None and sort == "slots" and not reading:
            with torch.no_grad():
                held = tower_features(before, images)
            loss = loss + _HELD * F.mse_loss(features.float(), held.float()) / held.float().var()
    return loss, {f"{sort}-{name}": value for name, value in hits.items()}
