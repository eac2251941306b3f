"""Models that have a graph for each of several picture sizes: which one a picture goes to."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Generic, TypeVar

import numpy as np

from quizglass_server.domain.turns import RGB
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.models.fields import Size

Sized = TypeVar("Sized")
SAME_SHAPE = log(1.05)
"""Sizes that distort a picture by no more than this beyond the best count as equally good."""


class Grids(Generic[Sized]):
    """What a model has for each picture size, the first one first."""

    def __init__(self, made: Sequence[tuple[Size, Sized]]) -> None:
        self._sizes = [size for size, _ in made]
        self._made = [each for _, each in made]

    @property
    def first(self) -> Sized:
        """The graph for the size that is used when there is no picture."""
        return self._made[0]

    def fitting(self, width: int, height: int) -> Sized:
        """The graph for the size that suits a picture of so many pixels best."""
        return self._made[best_size(self._sizes, width, height)]


def best_size(sizes: Sequence[Size], width: int, height: int) -> int:
    """Place of the size that changes a picture's aspect ratio least; among equally good ones, its area least."""
    if len(sizes) == 1:
        return 0
    bent = [abs(log(size.width / size.height) - log(width / height)) for size in sizes]
    good = [place for place, each in enumerate(bent) if each <= min(bent) + SAME_SHAPE]
    return min(good, key=lambda place: abs(log(sizes[place].width * sizes[place].height / (width * height))))


def blank(size: Size) -> RGB:
    """A black picture of a size, to run a model once with."""
    return np.zeros((size.height, size.width, 3), np.uint8)


def pixel_range(size: Size, rows: int) -> InputRange:
    """Shapes of `pixel_values` [B, 3, H, W] for 1 to `rows` pictures."""
    shape = (3, size.height, size.width)
    return InputRange((1, *shape), (1, *shape), (rows, *shape))
