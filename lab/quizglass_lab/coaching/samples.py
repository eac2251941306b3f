"""Pictures of pocketworld as a camera takes them: with one fault, or none. A sample follows from seed and number."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from quizglass_bundle.inputs.resizing import RGB
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.layout import free_scene
from quizglass_lab.pocketworld.scenes import FAULTS, Scene, make_scene
from quizglass_lab.pocketworld.world import Thing, make_world

CLEAN = "none"
KINDS = (CLEAN, *FAULTS)
_THINGS = 150
SIZES = (224, 256, 318)
QUALITIES = (80, 88, 94)
_COUNTS = {1: (1, 1, 2, 3), 2: (1, 1, 2, 3, 4)}


@dataclass(frozen=True, slots=True)
class CaptureSample:
    """A picture and what is wrong with it."""

    pixels: RGB
    fault: str
    """What is wrong with the picture: one of KINDS, CLEAN where nothing is."""
    format: int
    """Format of the pocketworld that the scene is of: 1 or 2."""


def samples(seed: int, count: int, kinds: tuple[str, ...] = KINDS) -> Iterator[CaptureSample]:
    """So many pictures of a seed's own worlds, kinds in turn."""
    worlds = {number: make_world(seed, _THINGS, format=number).things for number in (1, 2)}
    for at in range(count):
        rng = random.Random(f"coaching/{seed}/{at}")
        number, fault = rng.choice((1, 2)), kinds[at % len(kinds)]
        picture = draw_scene(_scene(worlds[number], number, fault, rng), rng.choice(SIZES))
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=rng.choice(QUALITIES))
        with Image.open(file) as taken:
            yield CaptureSample(np.asarray(taken.convert("RGB")), fault, number)


def _scene(things: tuple[Thing, ...], number: int, fault: str, rng: random.Random) -> Scene:
    """A scene with that fault: drawn until it has it, since not every scene can have every fault."""
    make, share = (make_scene if number == 1 else free_scene), float(fault != CLEAN)
    while True:
        scene = make(rng.sample(things, rng.choice(_COUNTS[number])), rng, fault_share=share)
        if (scene.fault.name if scene.fault else CLEAN) == fault:
            return scene
