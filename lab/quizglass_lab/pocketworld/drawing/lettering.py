"""Printed words: dark letters on a light board, in the scalable font that comes with Pillow."""

from __future__ import annotations

import math
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from quizglass_lab.pocketworld.drawing.canvas import Point

_BOARD = (247, 245, 236)
_FRAME = (92, 84, 74)
_INK = (24, 24, 28)
_MARGIN = 0.005


@lru_cache(maxsize=64)
def _font(pixels: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(pixels)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("Pillow was built without FreeType, which printed words need; install a wheel from PyPI")
    return font


@lru_cache(maxsize=512)
def board(lines: tuple[str, ...], size: int, height: float, room: float = 0.86) -> Image.Image:
    """Return an RGB board with these lines on it, for a picture of `size` pixels.

    Letters are `height` x `size` pixels high, or as high as lets the longest line fit in `room` x `size` pixels.
    """
    pixels = max(6, round(height * size))
    width = max(_font(pixels).getlength(line) for line in lines)
    if width > room * size:
        pixels = max(6, int(pixels * room * size / width))
    font = _font(pixels)
    widths = [font.getlength(line) for line in lines]
    ascent, descent = font.getmetrics()
    pad = max(2, round(0.3 * pixels))
    panel = Image.new("RGB", (math.ceil(max(widths)) + 2 * pad, (ascent + descent) * len(lines) + pad), _BOARD)
    draw = ImageDraw.Draw(panel)
    draw.rectangle((0, 0, panel.width - 1, panel.height - 1), outline=_FRAME, width=max(1, round(0.006 * size)))
    for i, line in enumerate(lines):
        at = ((panel.width - widths[i]) / 2, pad / 2 + i * (ascent + descent))
        draw.text(at, line, font=font, fill=_INK, stroke_width=0.02 * pixels, stroke_fill=_INK)
    return panel


def two_lines(words: str) -> tuple[str, ...]:
    """Break the words into two lines of about the same length; a single word stays whole."""
    parts = words.split()
    if len(parts) < 2:
        return (words,)
    breaks = [(" ".join(parts[:i]), " ".join(parts[i:])) for i in range(1, len(parts))]
    return min(breaks, key=lambda lines: max(map(len, lines)))


def inside(panel: Image.Image, centre: Point, angle: float, size: int) -> Point:
    """The place nearest to `centre` where a picture of `size` pixels shows the whole of a board turned by `angle`."""
    c, s = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
    reach = ((c * panel.width + s * panel.height) / 2, (s * panel.width + c * panel.height) / 2)
    margins = [half + _MARGIN * size for half in reach]
    x, y = (min(max(at, least), size - least) for at, least in zip(centre, margins, strict=True))
    return x, y


def paste_board(picture: Image.Image, panel: Image.Image, centre: Point, angle: float) -> None:
    """Put a board on the picture, its middle at `centre` pixels, turned by `angle` degrees clockwise."""
    mask = Image.new("L", panel.size, 255)
    if abs(angle) > 0.2:
        panel = panel.rotate(-angle, Image.Resampling.BICUBIC, expand=True)
        mask = mask.rotate(-angle, Image.Resampling.BILINEAR, expand=True)
    picture.paste(panel, (round(centre[0] - panel.width / 2), round(centre[1] - panel.height / 2)), mask)
