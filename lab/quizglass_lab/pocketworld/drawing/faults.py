"""Faults of a worn camera and of the moment: blur, darkness, tilt, truncation, occlusion, noise.

Mild to moderate: a person can still tell the thing.  Tilt and truncation move things before they are drawn,
occlusion is drawn over one thing, the others work on the finished pixels.
"""

from __future__ import annotations

import random

import numpy as np
from PIL import Image, ImageFilter

from quizglass_lab.pocketworld.drawing.canvas import Colour, Pen, darker, oval, rect, turned

MOST_TILT = 15.0
"""Degrees."""
MOST_HIDDEN = 0.2
"""Share of a thing's width beyond the border or behind something."""
_MOST_BLUR = 0.007
_MOST_SIGMA = 18.0
_GRAIN = 224


def spoil(picture: Image.Image, name: str, strength: float, seed: int) -> Image.Image:
    """Return the RGB picture with a fault of the pixels; other faults leave it as it is."""
    if name == "blur":
        return picture.filter(ImageFilter.GaussianBlur(_MOST_BLUR * strength * picture.width))
    if name == "dark":
        gain = 0.7 - 0.35 * strength
        return picture.point([round(level * gain) for level in range(256)] * 3)
    if name == "noise":
        return _noise(picture, _MOST_SIGMA * strength, seed)
    return picture


def _noise(picture: Image.Image, sigma: float, seed: int) -> Image.Image:
    """Add Gaussian noise on a grid of 224 x 224, so that pictures of any size lose equally much."""
    grain = np.random.default_rng(seed).standard_normal((_GRAIN, _GRAIN, 3), dtype=np.float32)
    added = Image.fromarray(np.clip(128 + sigma * grain, 0, 255).astype(np.uint8))
    if picture.size != added.size:
        added = added.resize(picture.size, Image.Resampling.BILINEAR)
    spoiled = np.asarray(picture, np.int16) + np.asarray(added, np.int16) - 128
    return Image.fromarray(np.clip(spoiled, 0, 255).astype(np.uint8))


def occlude(pen: Pen, strength: float, rng: random.Random) -> None:
    """Draw a grey post or a gloved hand over up to a fifth of the pen's thing."""
    colour: Colour = rng.choice(((118, 116, 114), (150, 146, 142), (96, 98, 102)))
    if rng.random() < 0.5:
        wide = MOST_HIDDEN * strength
        x = rng.uniform(-0.36, 0.36 - wide)
        pen.shape(turned(rect(x, -0.72, x + wide, 0.72), x, 0, rng.uniform(-10, 10)), colour)
        return
    side, y = rng.choice((-1.0, 1.0)), rng.uniform(-0.1, 0.16)
    reach = 0.46 - 0.3 * strength
    for i in range(4):
        at = y + (i - 1.5) * 0.1
        finger = rect(min(side * 0.62, side * reach), at - 0.045, max(side * 0.62, side * reach), at + 0.045)
        pen.shape(finger, colour, edge=False)
        pen.shape(oval(side * reach, at, 0.045), colour, edge=False)
        pen.line([(side * reach, at + 0.048), (side * 0.62, at + 0.048)], darker(colour), 0.012)
    pen.shape(oval(side * 0.7, y, 0.2, 0.26), colour, edge=False)
