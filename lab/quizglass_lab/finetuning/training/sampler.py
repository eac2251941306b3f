"""The order in which examples are trained on, so that those of one batch are about as long and little is padded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Sampler

_POOL = 50
"""Batches' worth of examples, drawn at random, that are sorted by length and cut into batches."""


class SimilarLengths(Sampler[int]):
    """Indices of examples, batch after batch; another order each epoch, and the same one for the same epoch.

    Args:
        lengths: tokens of each example.
        batch: examples at once.
        seed: of the order.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        self._lengths, self._batch, self._seed, self._epoch = lengths, batch, seed, 0

    def __len__(self) -> int:
        return len(self._lengths)

    def set_epoch(self, epoch: int) -> None:
        """Take the order of this epoch, counted from 0.

        Never of one before: a data loader that skips what was trained already begins to count anew.
        """
        self._epoch = max(self._epoch, epoch)

    def __iter__(self) -> Iterator[int]:
        drawn = torch.Generator().manual_seed(self._seed + self._epoch)
        order = torch.randperm(len(self._lengths), generator=drawn).tolist()
        batches: list[list[int]] = []
        for start in range(0, len(order), _POOL * self._batch):
            pool = sorted(order[start : start + _POOL * self._batch], key=lambda index: self._lengths[index])
            batches += [pool[at : at + self._batch] for at in range(0, len(pool), self._batch)]
        last = [batches.pop()] if batches and len(batches[-1]) < self._batch else []  # no other may be short
        for at in [*torch.randperm(len(batches), generator=drawn).tolist()]:
            yield from batches[at]
        for rest in last:
            yield from rest
