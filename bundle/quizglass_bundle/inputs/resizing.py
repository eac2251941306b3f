"""Pillow's bicubic resize as small matrix products, in half its time on frames of a camera's size.

Models were trained on pictures that Pillow resized (antialiased bicubic, a = -0.5, one axis after the other, rounded to
bytes in between), so those are the pictures that they must be given: the weights are those of Pillow's `Resample.c`,
and so is the rounding. Only where a sum falls within float32's error of a half can a byte differ by one. Which axis
comes first is Pillow's choice by shape and version, so it is asked once for every shape that comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.products import product

RGB = NDArray[np.uint8]
"""Picture, height x width x 3, sRGB, upright."""
LARGEST_PIXELS = 1 << 20
"""Of larger pictures Pillow needs less memory."""
_ROWS = 8
"""Output rows of one product: more would multiply more zeros, fewer be more products."""
_PRODUCT = 1 << 18
"""Multiplications of one product: OpenBLAS spreads larger ones over threads that belong to the engines."""

_SHAPES = 256
_ROUNDED_APART = 0.002
"""Share of bytes that float32 may round to the other side."""

Order = Callable[[RGB, int, int], RGB]
_Band = tuple[slice, slice, NDArray[np.float32]]


def resize(picture: RGB, size: Size) -> RGB:
    """A picture, uint8 [H, W, 3], stretched to `size`."""
    height, width = picture.shape[:2]
    shape = (height, width, size.height, size.width)
    if height * width > LARGEST_PIXELS:
        return _by_pillow(picture, size.height, size.width)
    if next(_uses(*shape)) == 0:
        return _by_pillow(picture, size.height, size.width)
    order = pillows_order(*shape)
    return _by_pillow(picture, size.height, size.width) if order is None else order(picture, size.height, size.width)


def width_first(picture: RGB, height: int, width: int) -> RGB:
    """Resize the width, then the height."""
    return _along_first_axis(_transposed(_along_first_axis(_transposed(picture), width)), height)


def height_first(picture: RGB, height: int, width: int) -> RGB:
    """Resize the height, then the width."""
    return _transposed(_along_first_axis(_transposed(_along_first_axis(picture, height)), width))


@lru_cache(maxsize=_SHAPES)
def _uses(before_h: int, before_w: int, after_h: int, after_w: int) -> Iterator[int]:
    """Counts the pictures of this shape: the way that has to be prepared is for shapes that come again."""
    return count()


@lru_cache(maxsize=_SHAPES)
def pillows_order(before_h: int, before_w: int, after_h: int, after_w: int) -> Order | None:
    """The order that gives what Pillow gives for this shape; None when neither does."""
    noise = np.random.default_rng(0).integers(0, 256, (before_h, before_w, 3), dtype=np.uint8)
    wanted = _by_pillow(noise, after_h, after_w).astype(np.int16)
    for order in (width_first, height_first):
        apart = np.abs(order(noise, after_h, after_w) - wanted)
        if apart.max() <= 1 and (apart > 0).mean() <= _ROUNDED_APART:
            return order
    return None


def _by_pillow(picture: RGB, height: int, width: int) -> RGB:
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC), dtype=np.uint8)


def _along_first_axis(picture: RGB, length: int) -> RGB:
    before = picture.shape[0]
    if before == length:
        return picture
    pixels = picture.reshape(before, -1)
    bands = _bands(before, length)
    # One band's input at a time stays in a core's cache, as the whole picture in floats would not.
    seen = np.empty((max(weights.shape[1] for _, _, weights in bands), pixels.shape[1]), np.float32)
    sums = np.empty((length, pixels.shape[1]), np.float32)
    for rows, source, weights in bands:
        band = seen[: weights.shape[1]]
        np.copyto(band, pixels[source])
        step = max(_PRODUCT // weights.size, 1)
        for start in range(0, pixels.shape[1], step):
            columns = slice(start, start + step)
            product(weights, band[:, columns], out=sums[rows, columns])
    sums += np.float32(0.5)
    np.clip(sums, 0, 255, out=sums)
    return sums.astype(np.uint8).reshape(length, *picture.shape[1:])


@lru_cache(maxsize=64)
def _bands(before: int, after: int) -> tuple[_Band, ...]:
    """Weights of each output position over the inputs that it sees, cut into bands of few zeros."""
    scale = before / after
    stretch = max(scale, 1.0)
    centres = (np.arange(after) + 0.5) * scale
    first = np.maximum((centres - 2 * stretch + 0.5).astype(int), 0)
    end = np.minimum((centres + 2 * stretch + 0.5).astype(int), before)
    places = np.arange(before)
    weights = _cubic((places[None] - centres[:, None] + 0.5) / stretch)
    weights[(places[None] < first[:, None]) | (places[None] >= end[:, None])] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    bands = []
    for start in range(0, after, _ROWS):
        rows = slice(start, min(start + _ROWS, after))
        source = slice(int(first[rows].min()), int(end[rows].max()))
        bands.append((rows, source, np.ascontiguousarray(weights[rows, source], dtype=np.float32)))
    return tuple(bands)


def _cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys' kernel with a = -0.5."""
    x = np.abs(x)
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _transposed(picture: RGB) -> RGB:
    """Height and width exchanged; OpenCV takes a twentieth of numpy's time."""
    import cv2  # heavy: a bundle without pictures needs none

    return np.asarray(cv2.transpose(picture))
