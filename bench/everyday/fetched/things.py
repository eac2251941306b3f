"""Photographed things: as they are stored, turned on a plain background, and somewhere in a busy photograph."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from bench.everyday.fetched.debian import STAMPS, unpacked
from quizglass.values import Entry
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.domain.turns import Picture

LEAST = 400
_DRAWN = ("cartoon", "alphabets", "symbols", "math", "mirror")
"""Parts of the paths of files that are no photographs, or others' photographs."""
_STORED, _FRAME = 320, (640, 480)
_TURN, _SIZE, _LIGHT = 15.0, (0.5, 0.9), (0.75, 1.15)
_PASTED = (0.35, 0.6)
"""Of the longer side of a thing, as a share of the photograph's shorter one."""


@dataclass(frozen=True)
class Thing:
    """A photographed thing, cut out."""

    id: str
    caption: str
    path: Path

    def cut_out(self) -> Image.Image:
        """RGBA, without the transparent border."""
        with Image.open(self.path) as image:
            whole = image.convert("RGBA")
        return whole.crop(whole.getchannel("A").getbbox())

    def entry(self) -> PicturedEntry:
        """As it is stored: in the middle of a white square."""
        encoded = io.BytesIO()
        _placed(self.cut_out(), 0.9 * _STORED, _blank((_STORED, _STORED), (255, 255, 255))).save(encoded, "PNG")
        return PicturedEntry(Entry(self.id, self.caption), [encoded.getvalue()])


def things(folder: Path) -> tuple[list[Thing], str]:
    """All that are photographed, in one order, and the package's version.

    Raises:
        PackageMissing: the package cannot be had, or is another than was meant.
    """
    root, version = unpacked(STAMPS, folder)
    stamps = root / "usr/share/tuxpaint/stamps"
    paths = sorted(path for path in stamps.rglob("*.png") if not any(part in str(path) for part in _DRAWN))
    named = [(path, path.with_suffix(".txt")) for path in paths]
    found = [Thing(str(path.relative_to(stamps)), _caption(text), path) for path, text in named if text.is_file()]
    if len(found) < LEAST:
        raise SystemExit(f"{stamps}: {len(found)} photographed things; at least {LEAST} were expected")
    return found, version


def on_plain(thing: Thing, seed: int) -> Picture:
    """Turned, resized, in another light, on one light colour."""
    chance = random.Random(f"{seed} plain {thing.id}")
    colour = tuple(chance.randint(170, 255) for _ in range(3))
    turned = _turned(thing.cut_out(), chance)
    return _picture(_placed(turned, chance.uniform(*_SIZE) * min(_FRAME), _blank(_FRAME, colour), chance))


def in_photograph(thing: Thing, photographs: Sequence[Path], seed: int) -> Picture:
    """Turned, resized, and pasted somewhere into a photograph of something else."""
    chance = random.Random(f"{seed} busy {thing.id}")
    with Image.open(chance.choice(photographs)) as image:
        frame = image.convert("RGB").resize(_FRAME, Image.Resampling.BICUBIC)
    turned = _turned(thing.cut_out(), chance)
    return _picture(_placed(turned, chance.uniform(*_PASTED) * min(_FRAME), frame, chance))


def read_picture(path: Path) -> Picture:
    """A photograph's pixels, under the file's name."""
    with Image.open(path) as image:
        return Picture(path.name.encode(), np.asarray(image.convert("RGB")))


def _caption(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()[0].strip()


def _blank(size: tuple[int, int], colour: tuple[int, ...]) -> Image.Image:
    return Image.new("RGB", size, colour)


def _turned(thing: Image.Image, chance: random.Random) -> Image.Image:
    alpha = thing.getchannel("A")
    lit = ImageEnhance.Brightness(thing.convert("RGB")).enhance(chance.uniform(*_LIGHT))
    lit.putalpha(alpha)
    return lit.rotate(chance.uniform(-_TURN, _TURN), resample=Image.Resampling.BICUBIC, expand=True)


def _placed(thing: Image.Image, longer: float, frame: Image.Image, chance: random.Random | None = None) -> Image.Image:
    """The thing in a frame, its longer side so many pixels, anywhere or in the middle."""
    scale = longer / max(thing.size)
    small = thing.resize([max(1, round(side * scale)) for side in thing.size], Image.Resampling.LANCZOS)
    room = [frame.size[axis] - small.size[axis] for axis in (0, 1)]
    corner = [free // 2 if chance is None else chance.randint(0, max(free, 0)) for free in room]
    frame.paste(small, (corner[0], corner[1]), small)
    return frame


def _picture(image: Image.Image) -> Picture:
    pixels = np.asarray(image)
    return Picture(hashlib.sha256(pixels.tobytes()).digest(), pixels)
