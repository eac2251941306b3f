"""Eight muted backdrops, so that the things' colours stand out.

Scenes may be tilted: everything is drawn through a `Pen` in the picture's own square, well beyond its borders.
"""

from __future__ import annotations

from collections.abc import Callable

from quizglass_lab.pocketworld.drawing.canvas import Colour, Pen, oval, rect

_FAR = 1.1


def _ground(pen: Pen, wall: Colour, floor: Colour, horizon: float) -> None:
    pen.shape(rect(-_FAR, -_FAR, _FAR, horizon), wall, edge=False)
    pen.shape(rect(-_FAR, horizon, _FAR, _FAR), floor, edge=False)


def _room(pen: Pen) -> None:
    _ground(pen, (214, 208, 198), (176, 164, 150), 0.26)
    pen.shape(rect(-_FAR, 0.23, _FAR, 0.27), (196, 188, 176), edge=False)
    pen.shape(rect(0.2, -0.46, 0.44, -0.2), (226, 228, 228), edge=False)


def _street(pen: Pen) -> None:
    _ground(pen, (198, 202, 206), (142, 142, 144), 0.3)
    for x, top in ((-0.5, -0.3), (-0.22, -0.16), (0.08, -0.36), (0.36, -0.2)):
        pen.shape(rect(x, top, x + 0.24, 0.22), (182, 184, 186), edge=False)
    pen.shape(rect(-_FAR, 0.22, _FAR, 0.3), (166, 166, 166), edge=False)


def _meadow(pen: Pen) -> None:
    _ground(pen, (206, 216, 222), (178, 190, 166), 0.16)
    pen.shape(oval(-0.3, 0.2, 0.5, 0.14), (188, 198, 180), edge=False)


def _shelf(pen: Pen) -> None:
    _ground(pen, (222, 214, 200), (186, 172, 154), 0.36)
    pen.shape(rect(-_FAR, 0.36, _FAR, 0.4), (160, 146, 128), edge=False)
    pen.shape(rect(-_FAR, -0.46, _FAR, -0.42), (170, 156, 138), edge=False)


def _sky(pen: Pen) -> None:
    _ground(pen, (204, 214, 224), (216, 222, 226), 0.3)
    for x, y in ((-0.3, -0.3), (0.3, -0.14), (-0.1, 0.38)):
        pen.shape(oval(x, y, 0.18, 0.07), (228, 232, 234), edge=False)


def _table(pen: Pen) -> None:
    _ground(pen, (190, 192, 190), (206, 190, 168), 0.1)
    for y in (0.22, 0.38):
        pen.shape(rect(-_FAR, y, _FAR, y + 0.012), (192, 176, 154), edge=False)


def _shore(pen: Pen) -> None:
    _ground(pen, (212, 218, 220), (172, 188, 194), 0.06)
    pen.shape(rect(-_FAR, 0.32, _FAR, _FAR), (212, 204, 184), edge=False)


def _studio(pen: Pen) -> None:
    _ground(pen, (172, 170, 174), (186, 184, 188), 0.2)
    pen.shape(oval(0, 0.28, 0.62, 0.16), (198, 196, 200), edge=False)


BACKDROPS: tuple[Callable[[Pen], None], ...] = (
    _room,
    _street,
    _meadow,
    _shelf,
    _sky,
    _table,
    _shore,
    _studio,
)
