"""Crops of photographs, spoilt as pocketworld's pictures are: what the layer is fitted on beside drawings.

The photographs are those of the packages that `quizglass_lab.wordgate.sources` names, but for scikit-image's and
scikit-learn's, which `bench.session` measures with.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterator, Sequence
from math import ceil, cos, radians, sin
from pathlib import Path

import numpy as np
from PIL import Image

from quizglass_bundle.inputs.resizing import RGB
from quizglass_lab.coaching.samples import CLEAN, QUALITIES, SIZES, CaptureSample
from quizglass_lab.pocketworld.drawing.canvas import Pen
from quizglass_lab.pocketworld.drawing.faults import MOST_TILT, occlude, spoil
from quizglass_lab.wordgate.sources import photographs

KINDS = (CLEAN, "blur", "dark", "tilt", "noise", "occlusion")
"""Truncation is none of them: whether a border cuts a thing needs labels of where things are."""
MEASURED_WITH = ("skimage/data", "sklearn/datasets/images")
_LARGEST, _SMALLEST = 1600, 318
"""Pixels of a photograph's sides: larger ones are made smaller, smaller ones left out."""


def wholes(root: Path) -> list[Image.Image]:
    """The photographs below the folder that the packages were unpacked into, in the order of their names.

    Raises:
        ValueError: there are none.
    """
    pictures = [_opened(path) for path in photographs(root, without=MEASURED_WITH)]
    large = [each for each in pictures if min(each.size) >= _SMALLEST]
    if not large:
        raise ValueError(f"{root}: has no photographs; quizglass_lab/wordgate/sources.py names their packages")
    return large


def crops(
    seed: int, count: int, pictures: Sequence[Image.Image], kinds: Sequence[str] = KINDS
) -> Iterator[CaptureSample]:
    """So many crops, kinds in turn; each follows from the seed and its number."""
    for at in range(count):
        rng = random.Random(f"photographs/{seed}/{at}")
        kind = kinds[at % len(kinds)]
        yield CaptureSample(crop(rng, rng.choice(pictures), kind), kind, 0)


def crop(rng: random.Random, whole: Image.Image, kind: str) -> RGB:
    """A crop of a photograph with a fault, as a camera would have saved it: RGB, uint8."""
    strength, size = rng.uniform(0.3, 1.0), rng.choice(SIZES)
    degrees = rng.choice((-1, 1)) * strength * MOST_TILT if kind == "tilt" else 0.0
    picture = _turned(rng, whole, degrees).resize((size, size), Image.Resampling.LANCZOS)
    if kind == "occlusion":
        centre = rng.uniform(0.35, 0.65) * size, rng.uniform(0.35, 0.65) * size
        occlude(Pen(picture, centre, 0.6 * size), strength, rng)
    picture = spoil(picture, kind, strength, rng.getrandbits(32))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=rng.choice(QUALITIES))
    with Image.open(file) as taken:
        return np.asarray(taken.convert("RGB"))


def _turned(rng: random.Random, whole: Image.Image, degrees: float) -> Image.Image:
    """A square of at least 0.6 of the photograph's shorter side, turned about its middle without empty corners."""
    turn = abs(radians(degrees))
    room = cos(turn) + sin(turn)
    side = rng.uniform(0.6, 1.0) * min(whole.size) / room
    reach = side * room / 2
    x, y = rng.uniform(reach, whole.width - reach), rng.uniform(reach, whole.height - reach)
    around = whole.crop((round(x - reach), round(y - reach), round(x + reach), round(y + reach)))
    turned = around.rotate(degrees, Image.Resampling.BICUBIC)
    margin = ceil((around.width - side) / 2) + 2  # beyond what interpolation takes from outside
    return turned.crop((margin, margin, around.width - margin, around.height - margin))


def _opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        whole = image.convert("RGB")
    whole.thumbnail((_LARGEST, _LARGEST))
    return whole
