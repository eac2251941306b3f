"""Printed words: dark letters on a light board, in the scalable font that comes with Pillow."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from quizglass_export.pocketworld.drawing.canvas import Point

_BOARD = (247, 245, 236)
_FRAME = (92, 84, 74)
_INK = (24, 24, 28)
_WIDEST = 0.94


@lru_cache(maxsize=64)
def _font(pixels: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(pixels)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("Pillow was built without FreeType, which printed words need; install a wheel from PyPI")
    return font


@lru_cache(maxsize=512)
def board(words: str, size: int, height: float) -> Image.Image:
    """Return a board with the words in one line, RGB, letters `height` x `size` pixels high where they fit."""
    pixels = max(6, round(height * size))
    width = _font(pixels).getlength(words)
    room = (_WIDEST - 0.08) * size
    if width > room:
        pixels = max(6, int(pixels * room / width))
    font = _font(pixels)
    left, top, right, bottom = font.getbbox(words)
    ascent, descent = font.getmetrics()
    pad = max(2, round(0.3 * pixels))
    panel = Image.new("RGB", (round(right - left) + 2 * pad, ascent + descent + pad), _BOARD)
    draw = ImageDraw.Draw(panel)
    draw.rectangle((0, 0, panel.width - 1, panel.height - 1), outline=_FRAME, width=max(1, round(0.006 * size)))
    draw.text((pad - left, pad / 2), words, font=font, fill=_INK, stroke_width=0.02 * pixels, stroke_fill=_INK)
    return panel


def paste_board(picture: Image.Image, panel: Image.Image, centre: Point, angle: float) -> None:
    """Put a board on the picture, its middle at `centre` pixels, turned by `angle` degrees clockwise."""
    mask = Image.new("L", panel.size, 255)
    if abs(angle) > 0.2:
        panel = panel.rotate(-angle, Image.Resampling.BICUBIC, expand=True)
        mask = mask.rotate(-angle, Image.Resampling.BILINEAR, expand=True)
    picture.paste(panel, (round(centre[0] - panel.width / 2), round(centre[1] - panel.height / 2)), mask)
