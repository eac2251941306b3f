"""Scenes to train seeing on: things of endless worlds, alone or several, in slots or anywhere, with their boxes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from quizglass_lab.pocketworld.arrangement import Box, boxes
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.layout import free_scene
from quizglass_lab.pocketworld.phrasing import sign_phrase
from quizglass_lab.pocketworld.scenes import Scene, make_scene
from quizglass_lab.pocketworld.world import Thing, make_world

WORLDS = 4_000_000
"""First seed of the worlds that scenes are made of."""
SCENE_SIZE, QUICK_SIZE = 448, 224
"""Sizes that scenes are drawn at: as they are served, and a quarter of the work."""
FINE_SHARE = 0.15
_WORLD_THINGS, _WORLD_SCENES = 300, 500
_FREE_SHARE = 0.75
_FREE_COUNTS = (0.2, 0.22, 0.2, 0.16, 0.12, 0.1)
_SLOT_COUNTS = (0.5, 0.3, 0.2)
_ALIKE_SHARE = 0.5
_SIGN_SHARE = 0.1


@dataclass(frozen=True)
class DrawnScene:
    """A scene with its picture, uint8 [side, side, 3].

    `boxes` of its things: centre x, centre y, width and height, 0 to 1.
    """

    scene: Scene
    pixels: NDArray[np.uint8]
    boxes: tuple[Box, ...]


def drawn_scenes(seed: int, side: int) -> Iterator[DrawnScene]:
    """Endless pictures; equal seeds give equal ones."""
    rng = random.Random(f"seeing/{seed}")
    things: Sequence[Thing] = ()
    for number in count():
        if number % _WORLD_SCENES == 0:
            things = make_world(WORLDS + rng.getrandbits(18), _WORLD_THINGS).things
        yield draw(training_scene(things, rng), side, SCENE_SIZE if rng.random() < FINE_SHARE else QUICK_SIZE)


def training_scene(things: Sequence[Thing], rng: random.Random) -> Scene:
    """Some of these things, in half of the scenes of several with two of a kind."""
    free = rng.random() < _FREE_SHARE
    shares = _FREE_COUNTS if free else _SLOT_COUNTS
    most = rng.choices(range(1, len(shares) + 1), shares)[0]
    group = rng.sample(things, most)
    if most > 1 and rng.random() < _ALIKE_SHARE:
        group[1] = rng.choice([thing for thing in things if thing.kind == group[0].kind and thing not in group])
        rng.shuffle(group)
    sign = sign_phrase(rng) if rng.random() < _SIGN_SHARE else None
    return (free_scene if free else make_scene)(group, rng, sign=sign)


def draw(scene: Scene, side: int, drawn_at: int = SCENE_SIZE) -> DrawnScene:
    """The picture in a model's size, drawn at another one and reduced as the server does."""
    picture = draw_scene(scene, drawn_at)
    if picture.width != side:
        picture = picture.resize((side, side), Image.Resampling.BICUBIC)
    return DrawnScene(scene, np.asarray(picture, np.uint8), tuple(_centred(box) for box in boxes(scene)))


def _centred(box: Box) -> Box:
    """Left, top, right, bottom to centre x, centre y, width, height."""
    left, top, right, bottom = box
    return (left + right) / 2, (top + bottom) / 2, right - left, bottom - top
