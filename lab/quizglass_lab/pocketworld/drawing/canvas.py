"""Vector shapes on a Pillow picture, in the coordinates of one thing.

A thing lives in the square [-0.5, 0.5] x [-0.5, 0.5], y pointing down.  `Pen` maps that square to pixels with a
scale, a rotation and a mirror, so that a thing is drawn in place, without a layer of its own: Pillow draws a few
dozen polygons in well under a millisecond.  This module does not know any kind of thing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from PIL import Image, ImageDraw

Colour = tuple[int, int, int]
Point = tuple[float, float]
Points = Sequence[Point]

DARK: Colour = (44, 44, 50)
GLASS: Colour = (196, 216, 226)
LIGHT: Colour = (243, 241, 234)
METAL: Colour = (150, 154, 160)
CREAM: Colour = (240, 226, 190)

_ROUND = 22
_UNIT_CIRCLE: tuple[Point, ...] = tuple(
    (math.cos(2 * math.pi * i / _ROUND), math.sin(2 * math.pi * i / _ROUND)) for i in range(_ROUND)
)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """Return the colour `share` of the way from `a` to `b`."""
    return (
        round(a[0] + (b[0] - a[0]) * share),
        round(a[1] + (b[1] - a[1]) * share),
        round(a[2] + (b[2] - a[2]) * share),
    )


def darker(colour: Colour, share: float = 0.45) -> Colour:
    """Return the colour moved towards black by `share`."""
    return mix(colour, (15, 15, 20), share)


def oval(cx: float, cy: float, rx: float, ry: float | None = None) -> list[Point]:
    """Return a closed polygon near the ellipse with this centre and these radii."""
    ry = rx if ry is None else ry
    return [(cx + rx * c, cy + ry * s) for c, s in _UNIT_CIRCLE]


def arc(cx: float, cy: float, rx: float, ry: float, start: float, end: float, steps: int = 12) -> list[Point]:
    """Return points on an ellipse from `start` to `end` degrees (0 is right, 90 is down)."""
    turns = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(cx + rx * math.cos(t), cy + ry * math.sin(t)) for t in turns]


def rect(x0: float, y0: float, x1: float, y1: float) -> list[Point]:
    """Return an upright rectangle as a polygon."""
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def rounded(x0: float, y0: float, x1: float, y1: float, radius: float) -> list[Point]:
    """Return a rectangle with round corners as a polygon."""
    r = min(radius, (x1 - x0) / 2, (y1 - y0) / 2)
    corners = ((x1 - r, y1 - r, 0), (x0 + r, y1 - r, 90), (x0 + r, y0 + r, 180), (x1 - r, y0 + r, 270))
    return [p for cx, cy, start in corners for p in arc(cx, cy, r, r, start, start + 90, 4)]


def smooth(points: Points, rounds: int = 2) -> list[Point]:
    """Return the closed polygon with its corners cut `rounds` times (Chaikin's scheme)."""
    current = list(points)
    for _ in range(rounds):
        cut: list[Point] = []
        for (ax, ay), (bx, by) in zip(current, current[1:] + current[:1], strict=True):
            cut.append((0.75 * ax + 0.25 * bx, 0.75 * ay + 0.25 * by))
            cut.append((0.25 * ax + 0.75 * bx, 0.25 * ay + 0.75 * by))
        current = cut
    return current


def turned(points: Points, cx: float, cy: float, degrees: float) -> list[Point]:
    """Return the points rotated about (cx, cy), clockwise on the screen."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [(cx + (x - cx) * c - (y - cy) * s, cy + (x - cx) * s + (y - cy) * c) for x, y in points]


class Pen:
    """Draws one thing's shapes on a picture.

    `width` is the thing's size in pixels, `centre` its middle in pixels, `angle` in degrees clockwise.
    `body` and `accent` are the thing's two colours; `outlines` gathers what `body_shape` drew, for the pattern.
    """

    def __init__(
        self,
        picture: Image.Image,
        centre: Point,
        width: float,
        angle: float = 0.0,
        mirror: bool = False,
        body: Colour = METAL,
        accent: Colour = DARK,
    ) -> None:
        self.picture = picture
        self.body = body
        self.accent = accent
        self.outlines: list[list[Point]] = []
        self._draw = ImageDraw.Draw(picture)
        self._width = width
        turn = math.radians(angle)
        c, s = width * math.cos(turn), width * math.sin(turn)
        side = -1.0 if mirror else 1.0
        self._matrix = (c * side, -s, centre[0], s * side, c, centre[1])

    def pixels(self, points: Iterable[Point]) -> list[Point]:
        """Map points of the thing's square to the picture's pixels."""
        a, b, tx, d, e, ty = self._matrix
        return [(a * x + b * y + tx, d * x + e * y + ty) for x, y in points]

    def shape(self, points: Points, fill: Colour, edge: bool = True) -> None:
        """Fill a polygon; `edge` adds a darker outline, which keeps light things off light walls."""
        at = self.pixels(points)
        self._draw.polygon(at, fill=fill)
        if edge:
            self._stroke(at, darker(fill), 0.014)

    def body_shape(self, points: Points) -> None:
        """Fill a polygon with the body colour and let the pattern cover it."""
        self.outlines.append(self.pixels(points))
        self._draw.polygon(self.outlines[-1], fill=self.body)

    def line(self, points: Points, fill: Colour, width: float) -> None:
        """Draw an open line; `width` as a share of the thing's size."""
        self._draw.line(self.pixels(points), fill=fill, width=self._pixel_width(width), joint="curve")

    def outline_body(self) -> None:
        """Draw the edges of the body's parts, over the pattern."""
        edge = darker(self.body)
        for outline in self.outlines:
            self._stroke(outline, edge, 0.018)

    def join_body(self) -> None:
        """Draw the body's parts again as one: an edge around them all, none between them."""
        edge = darker(self.body)
        for outline in self.outlines:
            self._stroke(outline, edge, 0.034)
        for outline in self.outlines:
            self._draw.polygon(outline, fill=self.body)

    def _stroke(self, at: list[Point], fill: Colour, width: float) -> None:
        self._draw.line([*at, at[0]], fill=fill, width=self._pixel_width(width))

    def _pixel_width(self, share: float) -> int:
        return max(1, round(share * self._width))
