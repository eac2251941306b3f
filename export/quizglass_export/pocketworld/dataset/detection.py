"""Scenes with the boxes and kinds of what they show: what an object detector is trained and measured with."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from quizglass_export.pocketworld.arrangement import boxes
from quizglass_export.pocketworld.draw import draw_scene
from quizglass_export.pocketworld.layout import MOST_THINGS, free_scene
from quizglass_export.pocketworld.phrasing import sign_phrase
from quizglass_export.pocketworld.world import KINDS, Thing, make_world

_COUNTS = (20, 20, 18, 16, 14, 12)
"""How often a scene shows one thing, two, …"""
_SIGNS = 0.12
_FEW_KINDS = 0.3  # of the scenes show things of one or two kinds, so that duplicates are common
_WORLD_THINGS, _SCENES_A_WORLD = 270, 300


@dataclass(frozen=True)
class DetectionExample:
    """A picture, uint8 [size, size, 3], and what it shows from left to right.

    `boxes` float32 [N, 4]: left, top, right, bottom as shares of the picture; `kinds` N indices of world.KINDS, and
    `names` the same as words. `colours` are the bodies', for phrases such as "red car".
    """

    picture: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    kinds: NDArray[np.int64]
    names: tuple[str, ...]
    colours: tuple[str, ...]


def detection_examples(seed: int, *, size: int = 224, start: int = 0) -> Iterator[DetectionExample]:
    """Endless examples; number `n` of a seed is the same whatever came before, so `start` resumes a stream.

    Things are of worlds that nothing else draws.
    """
    number = start
    while True:
        block, first = divmod(number, _SCENES_A_WORLD)
        things = make_world(_world_seed(seed, block), _WORLD_THINGS).things
        for place in range(first, _SCENES_A_WORLD):
            yield _example(things, random.Random(f"pocketworld/detection/{seed}/{block}/{place}"), size)
        number += _SCENES_A_WORLD - first


def first_examples(seed: int, count: int, *, size: int = 224) -> list[DetectionExample]:
    """The first `count` of a seed: a set to measure with."""
    return list(islice(detection_examples(seed, size=size), count))


def _world_seed(seed: int, block: int) -> int:
    """A seed of its own for each block, above those that other parts of a recipe draw worlds from."""
    return 2**40 + seed * 2**20 + block


def _example(things: tuple[Thing, ...], rng: random.Random, size: int) -> DetectionExample:
    count = rng.choices(range(1, MOST_THINGS + 1), _COUNTS)[0]
    pool = things
    if rng.random() < _FEW_KINDS:
        kinds = rng.sample(KINDS, rng.choice((1, 2)))
        pool = tuple(thing for thing in things if thing.kind in kinds)
    scene = free_scene(rng.sample(pool, count), rng, sign=sign_phrase(rng) if rng.random() < _SIGNS else None)
    shown = [placed.thing for placed in scene.things]
    return DetectionExample(
        np.asarray(draw_scene(scene, size), dtype=np.uint8),
        np.array(boxes(scene), dtype=np.float32),
        np.array([KINDS.index(thing.kind) for thing in shown], dtype=np.int64),
        tuple(thing.kind for thing in shown),
        tuple(thing.look.body for thing in shown),
    )
