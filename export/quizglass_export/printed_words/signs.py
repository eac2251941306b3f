"""Draws signs, labels and screens with known words over coloured textures. Equal seeds give equal pictures."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from quizglass_bundle.inputs.resizing import RGB

CUT_OUTS = ((448, 448), (320, 240))
"""Sizes of small pictures, which the server searches at 320 pixels."""
SIZES = ((640, 480), (480, 640), (640, 426), (736, 552), *CUT_OUTS)
"""Sizes of pictures as the server searches them: whole photographs at up to 736 pixels, and cut-outs."""
_LINES = (
    "OPEN", "Closed on Mondays", "Bakery", "Platform 4", "Fragile", "Please ring the bell", "Exit", "No entry",
    "Fresh coffee 2.80", "Room 217", "Mind the step", "Harbour Street", "Library", "Push", "Tickets", "12:45",
    "Sale 50 %", "Keep refrigerated", "Best before 08/2027", "Volume II", "Bus 38 Station", "Museum of Glass",
    "Do not touch", "Founded in 1894", "Apple juice", "500 g", "Parking for guests", "Water 0.5 l", "Gate B12",
    "Emergency exit", "Wet paint", "Post Office", "Quiet please", "The Lighthouse", "Oat biscuits", "7.30 a.m.",
)  # fmt: skip
"""What is written."""
_LEAST_CONTRAST = 90
"""Between the mean values of ground and ink, of 255."""
_TURN, _BLUR, _NOISE = 7.0, 0.9, 6.0
"""Most degrees, pixels, and standard deviation of the noise."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A picture with words."""

    picture: RGB
    lines: tuple[str, ...]
    """From the top to the bottom."""


def signs(count: int, seed: int, sizes: Sequence[tuple[int, int]] = SIZES) -> list[Sign]:
    """So many signs, in these sizes in turn, and in varied colours, places, light and sharpness."""
    return [_sign(random.Random(f"{seed} {number}"), sizes[number % len(sizes)]) for number in range(count)]


def _sign(chance: random.Random, size: tuple[int, int]) -> Sign:
    width, height = size
    lines = tuple(chance.sample(_LINES, chance.randint(1, 4)))
    ground, ink = _colours(chance)
    letters = chance.randint(max(20, height // 20), height // 8)
    board = _board(lines, letters, ground, ink).rotate(
        chance.uniform(-_TURN, _TURN), Image.Resampling.BICUBIC, expand=True
    )
    board.thumbnail((int(width * 0.9), int(height * 0.9)))
    picture = _texture(chance, width, height)
    place = chance.randint(0, width - board.width), chance.randint(0, height - board.height)
    picture.paste(board, place, board)
    blurred = picture.filter(ImageFilter.GaussianBlur(chance.uniform(0, _BLUR)))
    noise = np.random.default_rng(chance.getrandbits(32)).normal(0, chance.uniform(0, _NOISE), (height, width, 1))
    light = chance.uniform(0.6, 1.1)
    return Sign((np.asarray(blurred) * light + noise).clip(0, 255).astype(np.uint8), lines)


def _board(lines: tuple[str, ...], letters: int, ground: tuple[int, ...], ink: tuple[int, ...]) -> Image.Image:
    """A rectangle with the lines below each other, letters of so many pixels."""
    font = ImageFont.load_default(letters)
    boxes = [font.getbbox(line) for line in lines]
    step, margin = int(letters * 1.5), letters // 2
    size = int(max(box[2] for box in boxes)) + 2 * margin, step * len(lines) + 2 * margin
    board = Image.new("RGBA", size, (*ground, 255))
    draw = ImageDraw.Draw(board)
    for number, line in enumerate(lines):
        draw.text((margin, margin + step * number), line, (*ink, 255), font=font)
    return board


def _colours(chance: random.Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of ground and ink, far enough apart to be read."""
    while True:
        ground, ink = (tuple(chance.randint(0, 255) for _ in range(3)) for _ in range(2))
        if abs(sum(ground) - sum(ink)) >= 3 * _LEAST_CONTRAST:
            return ground, ink


def _texture(chance: random.Random, width: int, height: int) -> Image.Image:
    """Coarse patches of colour under a finer pattern: neither plain nor noise."""
    pattern = np.random.default_rng(chance.getrandbits(32))
    coarse = Image.fromarray(pattern.integers(0, 256, (4, 5, 3), dtype=np.uint8))
    fine = Image.fromarray(pattern.integers(0, 256, (height // 8, width // 8, 3), dtype=np.uint8))
    whole = coarse.resize((width, height), Image.Resampling.BICUBIC)
    return Image.blend(whole, fine.resize((width, height), Image.Resampling.BICUBIC), chance.uniform(0.1, 0.4))
