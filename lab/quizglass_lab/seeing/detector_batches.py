"""Batches that the detector learns from: scenes drawn for it, what is asked of each, and what is right."""

from __future__ import annotations

import random
import resource
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import TypeVar

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from quizglass_lab.retrieval.image_pool import look_labels
from quizglass_lab.seeing.detector_shape import PATCH, SIDE, PhraseReader
from quizglass_lab.seeing.matching import Pairs, Targets, covering
from quizglass_lab.seeing.phrases import phrases
from quizglass_lab.seeing.scenes import DrawnScene, drawn_scenes

_FRESH_SHARE, _KEPT = 3 / 8, 1200
"""Of a batch's scenes, how many are new, and how many are kept for the others."""
_PHRASES = 10
_AHEAD = 4
"""Batches that each process makes ahead."""
_Moved = TypeVar("_Moved", Targets, Pairs)


@dataclass(frozen=True)
class DetectionBatch:
    """Pictures, what is asked of each, and what is right.

    Attributes:
        pixels: uint8 [B, 224, 224, 3].
        ids: int64 [U, 16]: every phrase once.
        mask: the same shape, 1 for a token.
        asked: int64 [B, P]: rows of `ids`.
        targets: what the pictures show.
        covered: the patches on things, each with the smallest thing over its middle.
    """

    pixels: Tensor
    ids: Tensor
    mask: Tensor
    asked: Tensor
    targets: Targets
    covered: Pairs

    def to(self, device: torch.device) -> DetectionBatch:
        """The same batch on a device."""
        if device.type == "cpu":
            return self
        pixels, ids, mask, asked = (part.to(device) for part in (self.pixels, self.ids, self.mask, self.asked))
        return DetectionBatch(pixels, ids, mask, asked, _moved(self.targets, device), _moved(self.covered, device))


def _moved(part: _Moved, device: torch.device) -> _Moved:
    return replace(part, **{field.name: getattr(part, field.name).to(device) for field in fields(part)})


def make_batch(scenes: Sequence[DrawnScene], reader: PhraseReader, rng: random.Random) -> DetectionBatch:
    """Ask for what pictures show and for what they do not."""
    rows: dict[str, int] = {}
    asked, named, patches, things = [], [], [], []
    first = 0
    for scene in scenes:
        wanted = phrases(scene.scene, _PHRASES, rng)
        asked.append([rows.setdefault(text, len(rows)) for text, _ in wanted])
        named += [[float(i in those) for _, those in wanted] for i in range(len(scene.boxes))]
        covered, numbers = covering(torch.tensor(scene.boxes), SIDE // PATCH)
        patches.append(covered)
        things.append(first + numbers)
        first += len(scene.boxes)
    targets = Targets(
        torch.tensor([row for row, scene in enumerate(scenes) for _ in scene.boxes]),
        torch.tensor([box for scene in scenes for box in scene.boxes]),
        torch.tensor(named),
        torch.tensor([look_labels(placed.thing.look) for scene in scenes for placed in scene.scene.things]),
    )
    pixels = torch.from_numpy(np.stack([scene.pixels for scene in scenes]))
    ids, mask = reader.rows(list(rows))
    return DetectionBatch(pixels, ids, mask, torch.tensor(asked), targets, Pairs(torch.cat(patches), torch.cat(things)))


class DetectionBatches(IterableDataset[DetectionBatch]):
    """Batches without end; equal seeds give equal ones.

    Of each some scenes are new and the others were among the last ones: drawing takes as long as half a step.
    """

    def __init__(self, tokenizer: Tokenizer, scenes: int, seed: str) -> None:
        """`scenes` of a batch; a training that goes on draws by another seed than it began with."""
        self._reader = PhraseReader(tokenizer)
        self._scenes = scenes
        self._seed = seed

    def made(self, workers: int) -> Iterator[DetectionBatch]:
        """Batches made by `workers` processes; 0 makes them in this one, when they are asked for."""
        if workers == 0:
            return iter(self)
        _open_many_files()
        loader = DataLoader(
            self,
            batch_size=None,
            num_workers=workers,
            prefetch_factor=_AHEAD,
            multiprocessing_context="fork",  # which has read the vocabulary
            in_order=False,
        )
        return iter(loader)

    def __iter__(self) -> Iterator[DetectionBatch]:
        worker = get_worker_info()
        rng = random.Random(self._seed if worker is None else f"{self._seed}/{worker.id}")
        drawn, recent = drawn_scenes(rng.getrandbits(30), SIDE), deque[DrawnScene](maxlen=_KEPT)
        while True:
            fresh = list(islice(drawn, max(1, round(self._scenes * _FRESH_SHARE))))
            recent.extend(fresh)
            yield make_batch([*fresh, *rng.choices(recent, k=self._scenes - len(fresh))], self._reader, rng)


def _open_many_files() -> None:
    """Raise the limit of open files as far as it goes: every tensor that another process made is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
