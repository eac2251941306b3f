"""Scenes rendered once, kept as shards on disk: uint8 pictures and, for pretraining, their labels."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_export.pocketworld.scenes import Scene, make_scene
from quizglass_export.pocketworld.world import (
    ACCENT_COLOURS,
    BODY_COLOURS,
    KINDS,
    PATTERNS,
    SHAPES,
    Thing,
    core_world,
    make_world,
)
from quizglass_export.starter.data.drawing import render_all

SLOTS = ("left", "middle", "right")
SHAPE_NAMES = tuple(f"{kind}/{shape}" for kind in KINDS for shape in SHAPES[kind])
ABSENT = -100
_TARGETS = ("kind", "body", "accent", "pattern", "shape", "identity")
SHARD_SEED = 500_000


class Album:
    """Several arrays of pictures read as one, without copying them: `album[rows]` gathers, in order."""

    def __init__(self, parts: Sequence[NDArray[np.uint8]]) -> None:
        self.parts = parts
        self.starts = np.cumsum([0, *(len(part) for part in parts)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, rows: NDArray[np.int64] | Sequence[int]) -> NDArray[np.uint8]:
        where = np.searchsorted(self.starts, rows, side="right") - 1
        return np.stack([self.parts[part][row - self.starts[part]] for part, row in zip(where, rows, strict=True)])


def recognised_things() -> tuple[Thing, ...]:
    """The core things whose identity is taught, in the order of the identity labels."""
    return tuple(thing for thing in core_world().things if thing.recognised)


def label_sizes() -> dict[str, int]:
    """Classes of each label; identity has one more for everything that is not recognised."""
    sizes = (len(KINDS), len(BODY_COLOURS), len(ACCENT_COLOURS), len(PATTERNS), len(SHAPE_NAMES))
    return {**dict(zip(_TARGETS, sizes, strict=False)), "identity": len(recognised_things()) + 1}


def labels(scene: Scene, identities: dict[str, int]) -> NDArray[np.int64]:
    """[3 slots, 6 targets], ABSENT where a slot is empty."""
    rows = np.full((len(SLOTS), len(_TARGETS)), ABSENT, dtype=np.int64)
    for placed in scene.things:
        look = placed.thing.look
        rows[SLOTS.index(placed.slot)] = (
            KINDS.index(look.kind),
            BODY_COLOURS.index(look.body),
            ACCENT_COLOURS.index(look.accent),
            PATTERNS.index(look.pattern),
            SHAPE_NAMES.index(f"{look.kind}/{look.shape}"),
            identities.get(placed.thing.id, len(identities)),
        )
    return rows


def pretraining_scenes(count: int, seed: int) -> Iterator[Scene]:
    """Half recognised things, a sixth unrecognised ones of the core, a third of an endless supply."""
    rng = random.Random(seed)
    known = recognised_things()
    others = tuple(thing for thing in core_world().things if not thing.recognised)
    strangers: list[Thing] = []
    for index in range(count):
        if index % 300 == 0:
            strangers = list(make_world(seed * 1000 + 17 + index, 300).things)
        things = [rng.choice(_pool(rng, known, others, strangers)) for _ in range(_how_many(rng))]
        sign = rng.choice(("open today", "fresh fish", known[0].name, "garden road")) if rng.random() < 0.12 else None
        yield make_scene(things, rng, sign=sign if len(things) == 1 else None)


def _pool(rng: random.Random, *pools: Sequence[Thing]) -> Sequence[Thing]:
    return rng.choices(pools, (0.5, 0.16, 0.34))[0]


def _how_many(rng: random.Random) -> int:
    return rng.choices((1, 2, 3), (0.6, 0.25, 0.15))[0]


def make_shard(folder: Path, index: int, count: int, workers: int = 1) -> None:
    """Render one shard of labelled scenes; the same index gives the same shard."""
    scenes = list(pretraining_scenes(count, SHARD_SEED + index))
    identities = {thing.id: number for number, thing in enumerate(recognised_things())}
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"labels-{index:03d}.npy", np.stack([labels(scene, identities) for scene in scenes]))
    render_all(scenes, count, folder / f"pictures-{index:03d}.npy", index, workers)


def load_shards(folder: Path, first: int = 0) -> list[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Finished shards from index `first` on: (pictures [N, 112, 112, 3], labels [N, 3, 6])."""
    finished = sorted(folder.glob("pictures-[0-9][0-9][0-9].npy"))
    return [
        (np.load(path, mmap_mode="r"), np.load(folder / path.name.replace("pictures", "labels")))
        for path in finished
        if int(path.stem[-3:]) >= first
    ]
