"""Where a training loop gets its batches from: made as it goes, in this process or in several beside it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from quizglass_lab.starter.data.batches import Batch

COPYING = "copying"
"""The task whose share of exact answers a source receives."""
_AHEAD = 4
"""Batches that each process makes ahead."""
_MOST_PROCESSES = 10_000
"""More than ever make batches at once."""


class BatchSource(Protocol):
    """Makes batches, as far as a training is."""

    def __call__(self, part: float, copied: float) -> Iterator[Batch]:
        """Some batches, at least one.

        Args:
            part: share of the budget that is spent.
            copied: share of the rows that are copied without a mistake so far.
        """

    def reseed(self, number: int) -> None:
        """Draw differently from here on than a copy of this source with another number does."""


class Feed(IterableDataset[Batch]):
    """Batches of a source without end. Worker processes receive the training's progress, too."""

    def __init__(self, source: BatchSource, steps: int = 0) -> None:
        """`steps` that were made before: a training that goes on draws other batches than it began with."""
        self._source = source
        self._steps = steps
        self._standing = torch.zeros(2).share_memory_()  # type: ignore[no-untyped-call]

    def tell(self, part: float, copied: float) -> None:
        """How far the training is, for the batches to come."""
        self._standing[0], self._standing[1] = part, copied

    def batches(self, workers: int) -> Iterator[Batch]:
        """Batches without end, made by `workers` processes; 0 makes them in this one, when they are asked for."""
        if workers == 0:
            return iter(self)
        gc.freeze()  # a collection would copy the worlds into every process
        loader = DataLoader(
            self,
            batch_size=None,
            num_workers=workers,
            collate_fn=_sent,
            prefetch_factor=_AHEAD,
            multiprocessing_context="fork",  # worlds are shared, not copied
            in_order=False,
        )
        return map(_received, loader)

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        if number := self._steps * _MOST_PROCESSES + (0 if worker is None else worker.id + 1):
            self._source.reseed(number)
        while True:
            yield from self._source(float(self._standing[0]), float(self._standing[1]))


def _sent(batch: Any) -> Mapping[str, Any]:
    """The parts of a `Batch`, tensors as arrays: those go through the pipe by value.

    A tensor would be fetched from the process that made it, which is busy making the next and lets no reader in for
    milliseconds.
    """
    parts = {part.name: getattr(batch, part.name) for part in fields(batch)}
    return {name: part.numpy() if isinstance(part, Tensor) else part for name, part in parts.items()}


def _received(parts: Mapping[str, Any]) -> Batch:
    """The batch of `_sent`."""
    arrays = {name: torch.from_numpy(part) for name, part in parts.items() if hasattr(part, "dtype")}
    return Batch(**{**parts, **arrays})
