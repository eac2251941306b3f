"""Photographs with a sign, label, screen, price tag or book spine drawn into them, as a camera would see it.

What stands there and what is asked about it is in `signs.toml` and the files beside it.
"""

from __future__ import annotations

import io
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SIGNS = Path(__file__).with_name("signs.toml")
_LOOKS = {
    "sign": (("#f6f6f2", "#111111"), ("#1d4f91", "#ffffff"), ("#f2c200", "#141414"), ("#0b6b3a", "#f4fff4")),
    "label": (("#fbf7ec", "#2b1a10"), ("#e9efe2", "#123a1c"), ("#ffffff", "#7a1020")),
    "screen": (("#0a0f14", "#d8f0ff"), ("#eef2f6", "#20242a"), ("#04140a", "#5dff8a")),
    "price tag": (("#fff27a", "#b00010"), ("#ffffff", "#101010"), ("#e7342b", "#fffbe8")),
    "spine": (("#5a1f24", "#f0dca8"), ("#22323f", "#e8e8e0"), ("#e6ddc6", "#33261a")),
}
"""Ground and ink, of which one pair is drawn."""
_FONTS = ("DejaVuSans*.ttf", "DejaVuSerif*.ttf", "LiberationSans*.ttf", "LiberationSerif*.ttf", "FreeSans*.ttf")
_SYSTEM = Path("/usr/share/fonts/truetype")
_LETTERS, _PADDING = 64, 36
"""Pixels of the drawing before it is made as small as it is seen."""
_WIDTH, _SMALLEST = (0.34, 0.62), 0.045
"""Width of what is drawn, as a share of the photograph's; a line is at least so high a share of its height."""
_SKEW, _TURN = 0.1, 9.0
_LIGHT, _BLUR = (0.6, 1.1), 1.1
_SIDE = 640


@dataclass(frozen=True)
class Surface:
    """Something with words on it."""

    kind: str
    lines: tuple[str, ...]
    asked: tuple[tuple[str, tuple[str, ...]], ...]
    """Questions about the words, each with its right answers, of which one is to be said."""
    left_open: tuple[str, ...] = ()
    """Questions that the words do not answer."""


@cache
def surfaces(path: Path = SIGNS) -> tuple[Surface, ...]:
    """All of them."""
    return tuple(_surface(each) for each in tomllib.loads(path.read_text(encoding="utf-8"))["surface"])


def _surface(table: Mapping[str, Any]) -> Surface:
    asked = tuple((text, tuple(gold.split("|"))) for text, gold in table["ask"])
    return Surface(table["kind"], tuple(table["lines"]), asked, tuple(table.get("open", ())))


def photographed(photograph: bytes, surface: Surface | None, name: str) -> bytes:
    """A photograph as a JPEG, 640 pixels on its longer side, with something drawn into it.

    Args:
        photograph: encoded.
        surface: what is drawn; None: nothing.
        name: place, look, light and sharpness follow from it.
    """
    chance = Random(name)
    with Image.open(io.BytesIO(photograph)) as opened:
        whole = opened.convert("RGB")
    whole = whole.resize(_fitting(whole.size), Image.Resampling.LANCZOS)
    if surface is not None:
        drawn = _seen(_drawn(surface, chance), whole.size, chance)
        room = whole.width - drawn.width, whole.height - drawn.height
        whole.paste(drawn, (chance.randint(0, max(0, room[0])), chance.randint(0, max(0, room[1]))), drawn)
        whole = whole.filter(ImageFilter.GaussianBlur(chance.uniform(0, _BLUR)))
    out = io.BytesIO()
    whole.save(out, "JPEG", quality=chance.randint(70, 92))
    return out.getvalue()


def _fitting(size: tuple[int, int]) -> tuple[int, int]:
    scale = _SIDE / max(size)
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _drawn(surface: Surface, chance: Random) -> Image.Image:
    """Flat, seen from the front."""
    ground, ink = chance.choice(_LOOKS[surface.kind])
    font = ImageFont.truetype(chance.choice(_fonts()), _LETTERS)
    boxes = [font.getbbox(line) for line in surface.lines]
    width = round(max(box[2] for box in boxes)) + 2 * _PADDING
    step = round(_LETTERS * chance.uniform(1.15, 1.5))
    height = step * len(surface.lines) + 2 * _PADDING
    card = Image.new("RGBA", (width, height), ground)
    pen = ImageDraw.Draw(card)
    centred = chance.random() < 0.5
    for number, (line, box) in enumerate(zip(surface.lines, boxes, strict=True)):
        left = (width - box[2]) / 2 if centred else _PADDING
        pen.text((left, _PADDING + number * step), line, ink, font=font)
    if chance.random() < 0.5:
        pen.rectangle((5, 5, width - 6, height - 6), outline=ink, width=4)
    return card


def _seen(card: Image.Image, room: tuple[int, int], chance: Random) -> Image.Image:
    """From the side, in uneven light, as large as it stands in the photograph."""
    width = chance.uniform(*_WIDTH) * room[0]
    width = max(width, card.width * _SMALLEST * room[1] / _LETTERS)
    scale = min(width / card.width, 0.95 * room[0] / card.width, 0.95 * room[1] / card.height)
    size = max(8, round(card.width * scale)), max(8, round(card.height * scale))
    low, high = sorted(chance.uniform(*_LIGHT) for _ in range(2))
    light = np.linspace(low, high, card.width)[:: chance.choice((1, -1))]
    pixels = np.asarray(card).astype(np.float32)
    pixels[..., :3] = np.clip(pixels[..., :3] * light[None, :, None], 0, 255)
    small = Image.fromarray(pixels.astype(np.uint8), "RGBA").resize(size, Image.Resampling.LANCZOS)
    return _skewed(small, chance).rotate(chance.uniform(-_TURN, _TURN), Image.Resampling.BICUBIC, expand=True)


def _skewed(card: Image.Image, chance: Random) -> Image.Image:
    """In perspective: its corners move inward by up to a tenth of its height, or of a tenth of its width."""
    width, height = card.size
    corners = ((0, 0), (width, 0), (width, height), (0, height))
    rows, values = [], []
    for x, y in corners:
        u = x + chance.uniform(0, _SKEW * width / 3) * (1 if x == 0 else -1)
        v = y + chance.uniform(0, _SKEW * height) * (1 if y == 0 else -1)
        rows += [[u, v, 1, 0, 0, 0, -u * x, -v * x], [0, 0, 0, u, v, 1, -u * y, -v * y]]
        values += [x, y]
    solved = np.linalg.solve(np.array(rows, np.float64), np.array(values, np.float64))
    return card.transform(card.size, Image.Transform.PERSPECTIVE, tuple(solved), Image.Resampling.BICUBIC)


@cache
def _fonts() -> tuple[str, ...]:
    """Paths of upright fonts: matplotlib's, and those that this system has."""
    folders = Path(matplotlib.get_data_path(), "fonts", "ttf"), _SYSTEM
    found = {path.name: str(path) for folder in folders for name in _FONTS for path in sorted(folder.rglob(name))}
    return tuple(path for name, path in sorted(found.items()) if "Display" not in name)


def fonts() -> list[str]:
    """Names of the fonts that are drawn with here."""
    return [Path(path).stem for path in _fonts()]
