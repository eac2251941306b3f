"""A closer look at a thumbnail: where it seems to show words, a sharper part is asked for and put in its place."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Protocol

import cv2
import numpy as np

from quizglass.values import Region
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.models.wordgate import WordGate

WAIT_S = 2.0
"""Longest that a question waits for a sharper part."""
LEAST_SIDE = 320
"""Pixels: what is at most as wide and high as that is too small to be read well."""
STEP, REASON = "look_closer", "NO_FRAME"
_MOST_SIDE = 1280


class Source(Protocol):
    """Where a picture comes from."""

    def is_slow(self) -> bool:
        """Whether it takes long to decode."""
        ...

    async def picture(self) -> Picture:
        """The picture."""
        ...


class Closer:
    """Says which part of a thumbnail is too small. The network that finds words is loaded when it is first needed."""

    def __init__(self) -> None:
        self._gate: WordGate | None = None

    async def too_small(self, picture: Picture) -> Region | None:
        """The part that may show words, and has too few pixels for them; None when there is none."""
        return await asyncio.to_thread(self._find, picture)

    def _find(self, picture: Picture) -> Region | None:
        self._gate = self._gate or WordGate()
        part = self._gate.find(picture.pixels)
        if part is None:
            return None
        sides = (part.right - part.left) * picture.width, (part.bottom - part.top) * picture.height
        return Region(part.left, part.top, part.right, part.bottom) if max(sides) <= LEAST_SIDE else None


class SharpenedFrame:
    """A thumbnail with a sharper part in its place, as the source of a picture."""

    size = 0
    """Its bytes are counted where frames are held."""

    def __init__(self, thumbnail: Source, part: Source, region: Region) -> None:
        self._thumbnail = thumbnail
        self._part = part
        self._region = region

    def is_slow(self) -> bool:
        """Whether it takes long to decode. Raises InvalidPicture."""
        return self._thumbnail.is_slow() or self._part.is_slow()

    async def picture(self) -> Picture:
        """Both as one picture. Raises InvalidPicture."""
        whole, part = await self._thumbnail.picture(), await self._part.picture()
        pixels = await asyncio.to_thread(sharpened, whole.pixels, part.pixels, self._region)
        return Picture(sha256(whole.sha256 + part.sha256).digest(), pixels)


def sharpened(whole: RGB, part: RGB, region: Region) -> RGB:
    """A picture [H, W, 3], enlarged so far that the part fits its region in its own size, with the part in it."""
    height, width = whole.shape[:2]
    across, down = (region.right - region.left) * width, (region.bottom - region.top) * height
    scale = max(1.0, min(part.shape[1] / max(across, 1), part.shape[0] / max(down, 1), _MOST_SIDE / max(height, width)))
    size = round(width * scale), round(height * scale)
    enlarged = np.array(cv2.resize(whole, size, interpolation=cv2.INTER_CUBIC), np.uint8)
    left, right = (round(side * size[0]) for side in (region.left, region.right))
    top, bottom = (round(side * size[1]) for side in (region.top, region.bottom))
    if right > left and bottom > top:
        enlarged[top:bottom, left:right] = cv2.resize(part, (right - left, bottom - top), interpolation=cv2.INTER_AREA)
    return enlarged
