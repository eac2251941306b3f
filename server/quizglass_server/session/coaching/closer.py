"""A closer look at a thumbnail: which box of it is too small and is to be asked for sharper, and how it is put in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol

import cv2
import numpy as np
from cachetools import LRUCache

from quizglass.values import Region
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.errors import QuizglassError
from quizglass_server.roles.shared.wordgate import WordGate

logger = logging.getLogger(__name__)

WAIT_S = 2.0
"""Longest that a question waits for a sharper part."""
LOOK_S = 1.0
"""Longest that it is looked for whether one is needed."""
LEAST_SIDE = 320
"""Pixels. What may be words, and shows no line of them, is too small to be read well if it is at most as wide and high
as that."""
LEAST_LINE, LEGIBLE_LINE = 18, 24
"""Pixels: lines of words in boxes that are lower are read badly. On pocketworld's signs the reader made no mistake from
20 pixels on; a box is half as high again as its letters. Sharper ones should have a little more."""
LEAST_THING = 128
"""Pixels: things in squares that are smaller show encoders less than they can see."""
_NEARLY_WHOLE = 0.75
"""Share of a frame whose crop, as JPEG, costs as many bytes as the frame does."""
_KEPT = 256
"""Pictures of which it is remembered whether words in them are too small."""
STEP, REASON = "look_closer", "NO_FRAME"
_MOST_SIDE = 1280
_WHOLE = Region(0.0, 0.0, 1.0, 1.0)


class Boxes(Protocol):
    """What knows where things are in a picture."""

    async def text_regions(self, picture: Picture) -> list[Region] | None:
        """Where the gate before the reader finds that there may be words; None where there is no such gate."""
        ...

    async def lines_in(self, picture: Picture, part: Region) -> list[Region]:
        """Boxes of the lines of words in a part; none if unknown."""
        ...

    async def things_in(self, picture: Picture, question: str) -> list[Region]:
        """Squares with some margin around the subject of a question, likeliest first; none if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class TooSmall:
    """A part of a thumbnail."""

    region: Region
    side: int
    """Pixels that its longer side should have; more would cost bytes and show nothing more."""


class CloseUpAdvisor:
    """Says which part of a thumbnail is too small. What words say of that is found out once for a picture.

    Args:
        boxes: where lines and things are. It works for a guess: if it fails, that is as if it knew nothing.
        useful_side: pixels of the longer side that whole frames are sent with at most.
    """

    def __init__(self, boxes: Boxes, useful_side: int) -> None:
        self._boxes = boxes
        self._useful_side = useful_side
        self._gate: WordGate | None = None
        """For bundles without a reader; loaded when it is first needed."""
        self._judged: LRUCache[bytes, tuple[TooSmall | None]] = LRUCache(_KEPT)

    async def too_small(self, picture: Picture, question: str) -> TooSmall | None:
        """The part with the lines of words that are too low to be read, else the thing that is too small; else None.

        Where its crop would cost as much as the whole frame does, the part is that.
        """
        try:
            part = await self._words(picture) or await self._small_thing(picture, question)
        except QuizglassError as error:
            logger.debug("cannot tell whether a thumbnail is too small: %s", error.message)
            return None
        return None if part is None else self._affordable(part, picture)

    async def _words(self, picture: Picture) -> TooSmall | None:
        judged = self._judged.get(picture.key)
        if judged is None:
            parts = await self._boxes.text_regions(picture)
            if parts is None:
                parts = await asyncio.to_thread(self._gated, picture)
            judged = (await self._small_words(picture, parts[0]) if parts else None,)
            self._judged[picture.key] = judged
        return judged[0]

    def _gated(self, picture: Picture) -> list[Region]:
        self._gate = self._gate or WordGate()
        part = self._gate.find(picture.pixels)
        return [] if part is None else [part]

    def _affordable(self, part: TooSmall, picture: Picture) -> TooSmall:
        """The part; the whole frame where that has no more pixels, or hardly more and need not be encoded anew."""
        share = max(_size(part.region, picture)) / max(picture.width, picture.height)
        side = part.side / share  # of a whole frame that is as sharp
        if part.region.area < _NEARLY_WHOLE and part.region.area * side**2 < self._useful_side**2:
            return part
        return TooSmall(_WHOLE, min(ceil(side), self._useful_side))

    async def _small_words(self, picture: Picture, part: Region) -> TooSmall | None:
        if lines := await self._boxes.lines_in(picture, part):
            low = [line for line in lines if _size(line, picture)[1] < LEAST_LINE]
            if not low:
                return None
            region, lowest = with_margin(low, picture), min(_size(line, picture)[1] for line in low)
            return TooSmall(region, ceil(max(_size(region, picture)) * LEGIBLE_LINE / max(lowest, 1)))
        return TooSmall(part, LEAST_SIDE) if max(_size(part, picture)) <= LEAST_SIDE else None

    async def _small_thing(self, picture: Picture, question: str) -> TooSmall | None:
        things = await self._boxes.things_in(picture, question)
        small = bool(things) and max(_size(things[0], picture)) < LEAST_THING
        return TooSmall(things[0], LEAST_THING) if small else None


def with_margin(lines: Sequence[Region], picture: Picture) -> Region:
    """The box around boxes of lines, with the height of the highest on every side, as far as the picture reaches."""
    margin = max(line.bottom - line.top for line in lines) * picture.height
    across, down = margin / picture.width, margin / picture.height
    return Region(
        max(0.0, min(line.left for line in lines) - across),
        max(0.0, min(line.top for line in lines) - down),
        min(1.0, max(line.right for line in lines) + across),
        min(1.0, max(line.bottom for line in lines) + down),
    )


def _size(part: Region, picture: Picture) -> tuple[float, float]:
    return (part.right - part.left) * picture.width, (part.bottom - part.top) * picture.height


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
