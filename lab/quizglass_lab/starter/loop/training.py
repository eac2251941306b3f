"""The loop that the language and joint stages share: batches in, a better model out, a line of log now and then."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from quizglass_lab.starter.data.batches import Batch
from quizglass_lab.starter.data.pictures import Album
from quizglass_lab.starter.loop.feeding import COPYING, BatchSource, Feed
from quizglass_lab.starter.loop.schedule import Schedule, optimiser, resume, save_progress
from quizglass_lab.starter.model.precision import autocast, device_of, sent
from quizglass_lab.starter.model.vlm import Model, hidden_states, logits, picture_features

logger = logging.getLogger(__name__)
_SAVE_EVERY = 60.0
"""Seconds of the budget between two savings of the progress."""
_LOG_EVERY = 100
"""Steps between two lines of the log."""
_WARM_UP = 0.03
"""Share of the budget in which the rate rises."""
_WINDOW = 50
"""Examples of a task that its running share is about."""
_COUNTED = 8
"""Examples of one task of a batch, at most."""
Pictures = NDArray[np.uint8] | Album | Tensor


def shown(store: Pictures, rows: NDArray[np.int64] | Sequence[int], device: torch.device) -> Tensor:
    """Rows of a store of pictures, on a device: uint8 [P, 112, 112, 3]."""
    if isinstance(store, Tensor):
        return store[sent(torch.as_tensor(rows), store.device)]
    return torch.from_numpy(store[rows]).to(device)


def embed(model: Model, batch: Batch, store: Pictures | None) -> Tensor:
    """Token embeddings with the picture features in their slots: [B, S, 192]."""
    embeddings: Tensor = model.model.language_model.embed_tokens(batch.ids)
    if store is None or batch.pictures.numel() == 0:
        return embeddings
    features = picture_features(model, shown(store, batch.pictures.numpy(), embeddings.device))
    return embeddings.index_put(batch.slots.unbind(0), features.reshape(-1, features.shape[-1]).to(embeddings.dtype))


def predict(model: Model, batch: Batch, store: Pictures | None) -> Tensor:
    """Scores [T, vocabulary] for every target of a batch."""
    hidden = hidden_states(model, embed(model, batch, store), batch.positions, batch.mask)
    return logits(model, hidden[batch.rows, batch.columns])


def exact(scores: Tensor, batch: Batch) -> Tensor:
    """bool [examples]: greedy decoding would give exactly the answer, since every token of it scores highest."""
    wrong = (scores.argmax(-1) != batch.targets).to(torch.float32)
    return torch.zeros(len(batch.tasks), device=scores.device).index_add_(0, batch.owners, wrong) == 0


def on_device(store: NDArray[np.uint8] | Album, device: torch.device) -> Pictures:
    """The store, or what it holds as a tensor, where batches are computed on a GPU."""
    if device.type == "cpu":
        return store
    parts = store.parts if isinstance(store, Album) else [store]
    whole = torch.empty((len(store), *parts[0].shape[1:]), dtype=torch.uint8, device=device)
    start = 0
    for part in parts:
        whole[start : start + len(part)] = torch.from_numpy(np.array(part)).to(device)
        start += len(part)
    return whole


@dataclass
class Meter:
    """Running share of exact answers by task, over about the last fifty of each, and running loss."""

    loss: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, tasks: Sequence[str], loss: Tensor, right: Tensor) -> None:
        """Count a batch's examples, of these tasks, and its loss."""
        told = float(loss)
        self.loss = 0.98 * (self.loss or told) + 0.02 * told
        counted: dict[str, int] = {}
        for task, hit in zip(tasks, right.tolist(), strict=True):
            counted[task] = counted.get(task, 0) + 1
            if counted[task] <= _COUNTED:
                self.counts[task] = min(self.counts.get(task, 0) + 1, _WINDOW)
                old = self.shares.get(task, 0.0)
                self.shares[task] = old + (float(hit) - old) / self.counts[task]

    def line(self) -> str:
        """Loss, and share of right answers by task, as text for log lines."""
        return " ".join(
            [f"loss {self.loss:.3f}", *(f"{task}:{share:.2f}" for task, share in sorted(self.shares.items()))]
        )


def fit(
    model: Model,
    source: BatchSource,
    folder: Path,
    minutes: float,
    *,
    rate: float,
    store: Pictures | None = None,
    scales: dict[str, float] | None = None,
    workers: int = 0,
) -> Meter:
    """Train for a budget of time, where the model is, and return the running accuracies; resumable from `folder`.

    Args:
        model: what learns, as far as its parameters ask for gradients.
        source: makes the batches; asked again when they end.
        folder: of the progress.
        minutes: the budget, as `Schedule` counts it.
        rate: of learning, at its highest.
        store: pictures by row, uint8 [N, 112, 112, 3].
        scales: factors on the rate by parameter name prefix.
        workers: processes that make batches ahead; 0 makes them in this one.
    """
    optimizer = optimiser(model, rate, scales=scales)
    schedule = Schedule(minutes, rate, device_of(model), warm_up=_WARM_UP)
    meter = Meter(**resume(folder, model, optimizer, schedule))
    saved, device = schedule.spent, device_of(model)
    before: tuple[Sequence[str], Tensor, Tensor] | None = None
    for made in _batches(source, optimizer, schedule, meter, workers):
        learned = _learn(model, optimizer, made.to(device), store)
        if before is not None:
            meter.add(*before)  # a GPU has begun with the next step by now, and need not wait for the count
        before = (made.tasks, *learned)
        if schedule.steps % _LOG_EVERY == 0:
            logger.info("%s step %d %s %s", folder.name, schedule.steps, schedule.progress(), meter.line())
        if schedule.spent - saved > _SAVE_EVERY:
            saved = schedule.spent
            save_progress(folder, model, optimizer, schedule, asdict(meter))
    if before is not None:
        meter.add(*before)
    save_progress(folder, model, optimizer, schedule, asdict(meter))
    return meter


def _batches(
    source: BatchSource, optimizer: torch.optim.Optimizer, schedule: Schedule, meter: Meter, workers: int
) -> Iterator[Batch]:
    """A batch for each step until the time is used up, at the rate that the schedule has for it."""
    feed = Feed(source, schedule.steps)
    batches = feed.batches(workers)
    while schedule.step(optimizer, f"loss {meter.loss:.3f}"):
        feed.tell(schedule.part(), meter.shares.get(COPYING, 0.0))
        yield next(batches)


def _learn(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, store: Pictures | None
) -> tuple[Tensor, Tensor]:
    """One step; its loss, and which examples were answered exactly."""
    with autocast(batch.ids.device.type):
        scores = predict(model, batch, store)
    loss = F.cross_entropy(scores.float(), batch.targets)
    descend(model, optimizer, loss)
    return loss.detach(), exact(scores.detach(), batch)


def descend(module: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step down a loss, along a gradient of at most unit length."""
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
