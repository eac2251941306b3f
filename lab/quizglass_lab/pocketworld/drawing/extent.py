"""How far a thing's drawing reaches in its own square, found by drawing it without a picture."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from PIL import Image

from quizglass_lab.pocketworld.drawing.canvas import Colour, Pen, Point, Points
from quizglass_lab.pocketworld.drawing.form import Form
from quizglass_lab.pocketworld.drawing.kinds import draw_kind

_EDGE = 0.008
"""Half of a usual outline's width."""


class _Recorder(Pen):
    """A pen that notes every shape's points and draws none; a pattern stays within the body, so it adds nothing."""

    def __init__(self) -> None:
        super().__init__(Image.new("RGB", (1, 1)), (0.0, 0.0), 1.0)
        self.points: list[Point] = []

    def shape(self, points: Points, fill: Colour, edge: bool = True) -> None:
        self._note(points, _EDGE if edge else 0.0)

    def body_shape(self, points: Points) -> None:
        self._note(points, _EDGE)

    def line(self, points: Points, fill: Colour, width: float) -> None:
        self._note(points, width / 2)

    def _note(self, points: Points, margin: float) -> None:
        for x, y in points:
            self.points += ((x - margin, y), (x + margin, y), (x, y - margin), (x, y + margin))


@lru_cache(maxsize=16384)
def extent(kind: str, shape: str, params: tuple[float, ...]) -> tuple[Point, ...]:
    """The corners of the convex hull of a thing's drawing, in the thing's square (see `canvas`), without its shadow."""
    pen = _Recorder()
    draw_kind(pen, kind, Form.from_params(shape, "plain", params))
    return tuple(_hull(pen.points))


def _hull(points: Iterable[Point]) -> list[Point]:
    """Andrew's monotone chain."""
    ordered = sorted(set(points))
    lower, upper = _chain(ordered), _chain(ordered[::-1])
    return lower[:-1] + upper[:-1]


def _chain(points: list[Point]) -> list[Point]:
    chain: list[Point] = []
    for x, y in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], (x, y)) <= 0:
            chain.pop()
        chain.append((x, y))
    return chain


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
