"""Scenes rendered once, kept as shards on disk: uint8 pictures, and what each cell of them shows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quizglass_lab.pocketworld.arrangement import boxes
from quizglass_lab.pocketworld.layout import area, free_scene, overlap
from quizglass_lab.pocketworld.scenes import Scene, make_scene
from quizglass_lab.pocketworld.world import (
    ACCENT_COLOURS,
    BODY_COLOURS,
    KINDS,
    PATTERNS,
    SHAPES,
    Thing,
    core_world,
    make_world,
)
from quizglass_lab.starter.data.drawing import render_all
from quizglass_lab.starter.data.processes import in_processes
from quizglass_lab.starter.model.sizes import TOKENS_SIDE

SHAPE_NAMES = tuple(f"{kind}/{shape}" for kind in KINDS for shape in SHAPES[kind])
ABSENT = -100
_TARGETS = ("kind", "body", "accent", "pattern", "shape", "identity")
_COVERED = 0.25
"""Share of a cell, or of a thing where that is smaller, from which on the cell shows the thing."""
_SIGNS = 0.12
_IN_SLOTS = (0.6, 0.25, 0.15)
_FREE = (0.34, 0.2, 0.16, 0.12, 0.1, 0.08)
"""How many things scenes show: shares of one, two and so on."""


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
    """Classes of each label; kind has one more for nothing, identity for everything that is not recognised."""
    sizes = (len(KINDS) + 1, len(BODY_COLOURS), len(ACCENT_COLOURS), len(PATTERNS), len(SHAPE_NAMES))
    return {**dict(zip(_TARGETS, sizes, strict=False)), "identity": len(recognised_things()) + 1}


def labels(scene: Scene, identities: dict[str, int]) -> NDArray[np.int64]:
    """[16 cells, 6 targets], row by row: of the thing that a cell shows most of. Nothing is a kind, its rest ABSENT."""
    rows = np.full((TOKENS_SIDE**2, len(_TARGETS)), ABSENT, dtype=np.int64)
    rows[:, 0] = len(KINDS)
    things = [(placed.thing, box) for placed, box in zip(scene.things, boxes(scene), strict=True)]
    for number, (row, column) in enumerate(np.ndindex(TOKENS_SIDE, TOKENS_SIDE)):
        cell = (column / TOKENS_SIDE, row / TOKENS_SIDE, (column + 1) / TOKENS_SIDE, (row + 1) / TOKENS_SIDE)
        shares = [overlap(cell, box) / max(1e-6, min(area(cell), area(box))) for _, box in things]
        if max(shares) >= _COVERED:
            rows[number] = _classes(things[shares.index(max(shares))][0], identities)
    return rows


def _classes(thing: Thing, identities: dict[str, int]) -> tuple[int, ...]:
    look = thing.look
    return (
        KINDS.index(look.kind),
        BODY_COLOURS.index(look.body),
        ACCENT_COLOURS.index(look.accent),
        PATTERNS.index(look.pattern),
        SHAPE_NAMES.index(f"{look.kind}/{look.shape}"),
        identities.get(thing.id, len(identities)),
    )


def slot_scenes(count: int, seed: int) -> Iterator[Scene]:
    """Scenes of format 1 with `_company`'s things."""
    rng = random.Random(seed)
    for things in _company(count, seed, rng, _IN_SLOTS):
        sign = _sign(rng)
        yield make_scene(things, rng, sign=sign if len(things) == 1 else None)


def free_scenes(count: int, seed: int) -> Iterator[Scene]:
    """Scenes of format 2 with `_company`'s things."""
    rng = random.Random(seed)
    for things in _company(count, seed, rng, _FREE):
        yield free_scene(list({thing.id: thing for thing in things}.values()), rng, sign=_sign(rng))


def _company(count: int, seed: int, rng: random.Random, shares: Sequence[float]) -> Iterator[list[Thing]]:
    """What scenes show: half recognised things, a sixth unrecognised ones of the core, a third of an endless supply."""
    known = recognised_things()
    others = tuple(thing for thing in core_world().things if not thing.recognised)
    strangers: list[Thing] = []
    for index in range(count):
        if index % 300 == 0:
            strangers = list(make_world(seed * 1000 + 17 + index, 300).things)
        (number,) = rng.choices(range(1, len(shares) + 1), shares)
        yield [rng.choice(_pool(rng, known, others, strangers)) for _ in range(number)]


def _sign(rng: random.Random) -> str | None:
    if rng.random() >= _SIGNS:
        return None
    return rng.choice(("open today", "fresh fish", recognised_things()[0].name, "garden road"))


def _pool(rng: random.Random, *pools: Sequence[Thing]) -> Sequence[Thing]:
    return rng.choices(pools, (0.5, 0.16, 0.34))[0]


SORTS: Mapping[str, tuple[int, Callable[[int, int], Iterator[Scene]]]] = {
    "slots": (500_000, slot_scenes),
    "free": (700_000, free_scenes),
}
"""Sorts of scenes: the seed of the first shard, and what makes the scenes of one."""


def shard_scenes(sort: str, index: int, count: int) -> Iterator[Scene]:
    """The scenes of a shard of one of `SORTS`."""
    first, make = SORTS[sort]
    return make(count, first + index)


def _listed(job: tuple[str, int, int]) -> list[Scene]:
    return list(shard_scenes(*job))


def scenes_of(shards: Sequence[tuple[str, int]], count: int, workers: int = 1) -> list[Scene]:
    """The scenes of shards of `count` scenes each, one shard after the other; several `workers` make them sooner."""
    jobs = [(sort, index, count) for sort, index in shards]
    return [scene for scenes in in_processes(_listed, jobs, workers) for scene in scenes]


def make_shards(folder: Path, shards: Sequence[tuple[str, int]], count: int, workers: int = 1) -> None:
    """Render shards of `count` labelled scenes each that are not there already; several `workers` make one each."""
    for _ in in_processes(partial(_make_shard, folder, count), shards, workers):
        pass


def _make_shard(folder: Path, count: int, shard: tuple[str, int]) -> None:
    """The same index gives the same shard."""
    sort, index = shard
    path = folder / f"{sort}-{index:03d}.npy"
    if path.is_file():
        return
    scenes = list(shard_scenes(sort, index, count))
    identities = {thing.id: number for number, thing in enumerate(recognised_things())}
    folder.mkdir(parents=True, exist_ok=True)
    np.save(_labels_of(path), np.stack([labels(scene, identities) for scene in scenes]))
    render_all(scenes, count, path, SORTS[sort][0] + index)


def load_shard(folder: Path, sort: str, index: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """A finished shard: pictures [N, 112, 112, 3] and labels [N, 16, 6]."""
    path = folder / f"{sort}-{index:03d}.npy"
    return np.load(path, mmap_mode="r"), np.load(_labels_of(path))


def _labels_of(path: Path) -> Path:
    return path.with_name(f"labels-{path.name}")
