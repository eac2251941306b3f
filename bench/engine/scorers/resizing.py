"""What resizing by matrix products (`quizglass_bundle.inputs.resizing`) earns beside Pillow, on frames of usual sizes.

A turn on the starter fits its frame to both sizes once. Both sides take turns on the same frames, from the second time
a shape is seen on: the first is Pillow's anyway, and so are frames of more than a million pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
from PIL import Image

from bench.engine.contenders.setup import Setup
from bench.results import against
from bench.sections import Part
from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.resizing import resize
from quizglass_server.domain.turns import RGB

_FRAMES = ((448, 448), (480, 640), (720, 1280))
"""Height and width: pocketworld's, and of cameras."""
_SIDES = (112, 224)
"""Of the starter: its encoder, scorers and generator; its detector."""
_TIMES = 400
_MOST = 0.8
"""Of Pillow's time: less would not be worth the code."""


async def run(setup: Setup) -> Part:
    """A row for each frame and size, and one a frame for all that a turn fits."""
    part, random = Part(), np.random.default_rng(0)
    for height, width in _FRAMES:
        frames = [random.integers(0, 256, (height, width, 3), dtype=np.uint8) for _ in range(8)]
        whole: tuple[list[float], list[float]] = ([], [])
        for side in _SIDES:
            ours, theirs = _timed(frames, side, setup.count(_TIMES, 10))
            part.rows.append(against(f"{width} x {height} resized to {side} x {side}", ours, "ms", "Pillow", theirs))
            for all_, times in zip(whole, (ours, theirs), strict=True):
                all_[:] = map(sum, zip(all_, times, strict=True)) if all_ else times
        part.rows.append(against(f"{width} x {height}, all sizes of a turn", whole[0], "ms", "Pillow", whole[1], _MOST))
    return part


def _timed(frames: list[RGB], side: int, times: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each resize, ours and Pillow's."""
    size = Size(width=side, height=side)
    for frame in frames[:2]:
        resize(frame, size)
    ours, theirs = list[float](), list[float]()
    for number in range(times):
        frame = frames[number // 2 % len(frames)]
        both = (ours, partial(resize, frame, size)), (theirs, partial(_by_pillow, frame, side))
        for took, work in both if number % 2 else reversed(both):  # the first has the frame brought from memory
            took.append(_ms(work))
    return ours, theirs


def _by_pillow(frame: RGB, side: int) -> RGB:
    return np.asarray(Image.fromarray(frame).resize((side, side), Image.Resampling.BICUBIC), dtype=np.uint8)


def _ms(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return (perf_counter() - began) * 1e3
