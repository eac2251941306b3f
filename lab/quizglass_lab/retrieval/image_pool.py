"""Pictures to train the image encoder with, rendered once into chunk files that a trainer picks up as they appear.

A chunk holds the reference pictures of some things, the parts of scenes that the server would look them up by, and
their attributes: views of scenes in slots, and boxes of free scenes as a detector gives them. Chunk `i` depends on the
seed and `i` alone.
"""

import argparse
import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from quizglass.values import Region
from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.vision_inputs import fit
from quizglass_lab.pocketworld.arrangement import Box, boxes
from quizglass_lab.pocketworld.draw import draw_scene, draw_thing
from quizglass_lab.pocketworld.layout import free_scene
from quizglass_lab.pocketworld.phrasing import sign_phrase
from quizglass_lab.pocketworld.scenes import Placed, Scene, make_scene
from quizglass_lab.pocketworld.world import (
    ACCENT_COLOURS,
    BODY_COLOURS,
    KINDS,
    PATTERNS,
    SHAPES,
    Look,
    Thing,
    core_world,
    make_world,
)
from quizglass_lab.retrieval.shapes import IMAGE_SIZE
from quizglass_server.domain.turns import Picture
from quizglass_server.roles.shared.fitting import content_hash
from quizglass_server.steps.lookup.parts.crop import crop
from quizglass_server.steps.lookup.parts.detect import around

CHUNK_THINGS = 1000
VIEWS, SLOT_VIEWS = 4, 1
"""Parts of scenes a thing, and how many of them are views of slots; the others are boxes."""
SCENE_SIZE = 448
SIGN_SHARE = 0.08
ATTRIBUTE_SIZES = {
    "kind": len(KINDS),
    "body": len(BODY_COLOURS),
    "accent": len(ACCENT_COLOURS),
    "pattern": len(PATTERNS),
    "shape": sum(len(shapes) for shapes in SHAPES.values()),
}
_SHAPE_INDEX = {(kind, shape): i for i, (kind, shape) in enumerate((k, s) for k in KINDS for s in SHAPES[k])}
_SLOT_COUNTS = (0.7, 0.2, 0.1)
_FREE_COUNTS = (0.3, 0.2, 0.16, 0.14, 0.11, 0.09)
"""How many things scenes show: shares of one, two and so on."""
_SHIFT, _STRETCH = 0.06, 0.12
"""How far a detector's boxes are off: deviations of the centre, in sides, and of the logarithm of a side."""
_SLOT_SHARE = {"left": (0.0, 0.5), "middle": (0.25, 0.75), "right": (0.5, 1.0)}
_TRIED = 4
"""Things that a batch is chosen from, for each of its own: those that look like another one are left out."""
Shown = Callable[[Sequence[Thing], random.Random], Iterator[tuple[Placed, NDArray[np.uint8]]]]
"""Shows some things together: each with the part of the scene that it would be looked up by."""


@dataclass(frozen=True)
class Chunk:
    """reference [N,H,W,3] and views [N,VIEWS,H,W,3], uint8; labels [N,5], one column per attribute."""

    reference: NDArray[np.uint8]
    views: NDArray[np.uint8]
    labels: NDArray[np.int64]


def look_labels(look: Look) -> tuple[int, ...]:
    """Class numbers of a look, in the order of ATTRIBUTE_SIZES."""
    return (
        KINDS.index(look.kind),
        BODY_COLOURS.index(look.body),
        ACCENT_COLOURS.index(look.accent),
        PATTERNS.index(look.pattern),
        _SHAPE_INDEX[look.kind, look.shape],
    )


def search_view(picture: Image.Image, slot: str | None) -> Image.Image:
    """What the server embeds: the left, right or central half of the width, or all of it; 112x112, bicubic."""
    if slot is not None:
        low, high = _SLOT_SHARE[slot]
        width, height = picture.size
        picture = picture.crop((round(low * width), 0, round(high * width), height))
    return picture.convert("RGB").resize((IMAGE_SIZE, IMAGE_SIZE), Image.Resampling.BICUBIC)


def reference_view(thing: Thing) -> Image.Image:
    """The entry's picture, 112x112."""
    return search_view(draw_thing(thing.look, SCENE_SIZE), None)


def scene_views(scene: Scene) -> Iterator[tuple[Placed, Image.Image]]:
    """Every thing of a scene with the view that a question about it searches with."""
    picture = draw_scene(scene, SCENE_SIZE)
    for placed in scene.things:
        yield placed, search_view(picture, placed.slot if len(scene.things) > 1 else None)


def loosened(box: Box, rng: random.Random) -> Region:
    """A box as a detector would give it: a little off."""
    left, top, right, bottom = box
    wide, high = right - left, bottom - top
    x, y = (left + right) / 2 + wide * rng.gauss(0, _SHIFT), (top + bottom) / 2 + high * rng.gauss(0, _SHIFT)
    wide, high = (side * math.exp(rng.gauss(0, _STRETCH)) for side in (wide, high))
    sides = (x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
    return Region(*(min(max(side, 0.0), 1.0) for side in sides))


def scene_boxes(scene: Scene, rng: random.Random) -> Iterator[tuple[Placed, NDArray[np.uint8]]]:
    """Every thing of a scene with what the server embeds for a detector's box of it, [112,112,3]."""
    pixels = np.asarray(draw_scene(scene, SCENE_SIZE), np.uint8)
    picture, size = Picture(content_hash(pixels), pixels), Size(width=IMAGE_SIZE, height=IMAGE_SIZE)
    for placed, box in zip(scene.things, boxes(scene), strict=True):
        part = crop(picture, around(loosened(box, rng), picture))
        yield placed, fit(np.ascontiguousarray(part.pixels), size)


def make_groups(things: Sequence[Thing], rng: random.Random, shares: Sequence[float]) -> Iterator[list[Thing]]:
    """Endless scenes' worth of things, `shares` of them one, two and so on; each comes up about equally often."""
    while True:
        order = list(things)
        rng.shuffle(order)
        at = 0
        while at < len(order):
            count = rng.choices(range(1, len(shares) + 1), shares)[0]
            yield order[at : at + count]
            at += count


def in_slots(group: Sequence[Thing], rng: random.Random) -> Iterator[tuple[Placed, NDArray[np.uint8]]]:
    """Views of a scene of format 1."""
    sign = sign_phrase(rng) if len(group) == 1 and rng.random() < SIGN_SHARE else None
    for placed, view in scene_views(make_scene(group, rng, sign=sign)):
        yield placed, np.asarray(view)


def in_boxes(group: Sequence[Thing], rng: random.Random) -> Iterator[tuple[Placed, NDArray[np.uint8]]]:
    """Boxes of a free scene."""
    sign = sign_phrase(rng) if rng.random() < SIGN_SHARE else None
    return scene_boxes(free_scene(group, rng, sign=sign), rng)


def _parts(
    things: Sequence[Thing], rng: random.Random, shares: Sequence[float], show: Shown, count: int
) -> NDArray[np.uint8]:
    """`count` parts of scenes for each thing, alone and with others: [N,count,H,W,3]."""
    index = {thing.id: i for i, thing in enumerate(things)}
    parts = np.zeros((len(things), count, IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8)
    filled = np.zeros(len(things), np.int64)
    for group in make_groups(things, rng, shares):
        if filled.min() >= count:
            break
        if all(filled[index[thing.id]] >= count for thing in group):
            continue
        for placed, part in show(group, rng):
            i = index[placed.thing.id]
            if filled[i] < count:
                parts[i, filled[i]] = part
                filled[i] += 1
    return parts


def render_chunk(things: Sequence[Thing], seed: int) -> Chunk:
    """Reference pictures, and VIEWS parts of scenes for each thing, the first SLOT_VIEWS of them views."""
    rng = random.Random(f"pool/{seed}")
    reference = np.stack([np.asarray(reference_view(thing)) for thing in things])
    views = _parts(things, rng, _SLOT_COUNTS, in_slots, SLOT_VIEWS)
    loose = _parts(things, rng, _FREE_COUNTS, in_boxes, VIEWS - SLOT_VIEWS)
    labels = np.array([look_labels(thing.look) for thing in things], np.int64)
    return Chunk(reference, np.concatenate((views, loose), axis=1), labels)


def render_pool(folder: Path, numbers: Sequence[int], seed: int, parent: int | None = None) -> None:
    """Render chunks of these numbers; existing ones are kept. The core is chunk 0.

    With `parent`, stop when that process is gone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for i in numbers:
        target = folder / f"chunk-{i:03d}.npz"
        if target.exists():
            continue
        if parent is not None and os.getppid() != parent:
            break  # the trainer that wanted the pool is gone
        world_seed = 1_000_000 + 1000 * seed + i
        world = core_world() if i == 0 else make_world(world_seed, CHUNK_THINGS)
        chunk = render_chunk(world.things, world_seed)
        part = folder / f"part-{os.getpid()}.npz"
        np.savez(part, reference=chunk.reference, views=chunk.views, labels=chunk.labels)
        part.replace(target)


class ImagePool:
    """The chunks rendered so far, all in the memory of the device that learns (190 MB a chunk of 1,000)."""

    def __init__(self, folder: Path, device: torch.device | str = "cpu") -> None:
        self.folder = folder
        self._device = device
        self._known: set[Path] = set()
        self._labels = np.zeros((0, len(ATTRIBUTE_SIZES)), np.int64)
        self._looks = np.zeros(0, np.int64)
        self._references = self._views = torch.zeros(0, dtype=torch.uint8)

    def refresh(self) -> int:
        """Load chunks that have appeared; returns how many there are."""
        appeared = [path for path in sorted(self.folder.glob("chunk-???.npz")) if path not in self._known]
        if appeared:
            self._known.update(appeared)
            self._add([_load(path) for path in appeared])
        return len(self._known)

    def _add(self, chunks: Sequence[Chunk]) -> None:
        self._labels = np.concatenate((self._labels, *(chunk.labels for chunk in chunks)))
        self._looks = np.asarray(np.ravel_multi_index(tuple(self._labels.T), tuple(ATTRIBUTE_SIZES.values())), np.int64)
        self._references = self._with(self._references, [chunk.reference for chunk in chunks])
        self._views = self._with(self._views, [chunk.views for chunk in chunks])

    def _with(self, pictures: Tensor, others: Sequence[NDArray[np.uint8]]) -> Tensor:
        there = [pictures] if len(pictures) else []
        return torch.cat([*there, *(torch.from_numpy(each).to(self._device) for each in others)])

    def sample(self, count: int, rng: np.random.Generator, alike: str = "nothing") -> tuple[Tensor, Tensor, Tensor]:
        """Things that look different: references uint8 [N,H,W,3], one view each [N,H,W,3], labels [N,5].

        `alike`: "kind" draws from one kind, "colours" from one pair of colours, and from others with the same body
        colour once those are used up, "looks" from one kind in one body colour, then from that kind; "nothing" draws
        from all. N is `count`, or less where the pool has fewer looks that are nearly as much alike.
        """
        order = rng.permutation(len(self._labels))
        ranked = order[np.argsort(self._unlike(order, alike), kind="stable")[: _TRIED * count]]
        _, firsts = np.unique(self._looks[ranked], return_index=True)
        picks = ranked[np.sort(firsts)[:count]]
        rows, views = torch.from_numpy(picks), torch.from_numpy(rng.integers(VIEWS, size=len(picks)))
        labels = torch.from_numpy(self._labels[picks]).to(self._device)
        return self._references[rows], self._views[rows, views], labels

    def _unlike(self, order: NDArray[np.int64], alike: str) -> NDArray[np.int8]:
        """How unlike the first thing others are in what `alike` says, in this order; 0: alike."""
        labels = self._labels[order]
        kind, body, accent = (labels[:, column] != labels[0, column] for column in range(3))
        ranks = {"nothing": 0 * kind, "kind": kind, "colours": 2 * body + accent, "looks": 2 * kind + body}
        return np.asarray(ranks[alike], np.int8)


def _load(path: Path) -> Chunk:
    with np.load(path) as data:
        return Chunk(data["reference"], data["views"], data["labels"])


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description="Render the image encoder's training pool.")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--chunks", type=int, nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    render_pool(arguments.folder, arguments.chunks, arguments.seed, os.getppid())


if __name__ == "__main__":
    main()
