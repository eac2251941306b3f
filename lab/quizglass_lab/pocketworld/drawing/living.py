"""Plants and birds."""

from __future__ import annotations

import math

from quizglass_lab.pocketworld.drawing.canvas import (
    DARK,
    LIGHT,
    Colour,
    Pen,
    Point,
    oval,
    rect,
    smooth,
    turned,
)
from quizglass_lab.pocketworld.drawing.form import Form, span

_BARK: Colour = (112, 98, 84)
_STALK: Colour = (96, 116, 88)
_CLAY: Colour = (176, 160, 146)
_BEAK: Colour = (196, 158, 84)


def _pot(pen: Pen, top: float, half: float) -> None:
    pen.shape([(-half, top), (half, top), (half * 0.7, 0.5), (-half * 0.7, 0.5)], _CLAY)
    pen.shape(rect(-half - 0.02, top, half + 0.02, top + 0.08), pen.accent)


def _fruits(pen: Pen, places: list[Point], radius: float) -> None:
    for x, y in places:
        pen.shape(oval(x, y, radius), pen.accent)


def _tree(pen: Pen, form: Form) -> None:
    low, wide = span(form.b, 0.1, 0.24), span(form.a, 0.32, 0.46)
    pen.shape([(-0.06, low - 0.1), (0.06, low - 0.1), (0.09, 0.5), (-0.09, 0.5)], _BARK)
    middle = (low - 0.5) / 2
    pen.body_shape(oval(0, middle, wide, (low + 0.5) / 2))
    form.finish_body(pen, (-wide, -0.5, wide, low))
    spread = span(form.c, 0.16, 0.26)
    _fruits(
        pen,
        [(-spread, middle + 0.08), (spread, middle + 0.04), (0.02, middle - 0.14)],
        span(form.place, 0.05, 0.08),
    )


def _bush(pen: Pen, form: Form) -> None:
    top = span(form.a, -0.3, -0.12)
    _pot(pen, 0.22, span(form.b, 0.2, 0.3))
    lobes = [(-0.28, 0.08), (0.28, 0.08), (-0.16, top + 0.12), (0.18, top + 0.14), (0.0, 0.1)]
    for x, y in lobes:
        pen.body_shape(oval(x, y, 0.22, 0.18))
    form.finish_body(pen, (-0.5, top - 0.06, 0.5, 0.28), joined=True)
    for x, y in lobes[:4]:
        pen.shape(oval(x * span(form.c, 0.8, 1.2), y, 0.06), pen.accent)


def _cactus(pen: Pen, form: Form) -> None:
    half = span(form.a, 0.12, 0.18)
    top = span(form.b, -0.48, -0.36)
    left, right = span(form.c, -0.2, 0.02), span(1 - form.c, -0.22, 0.0)
    for side, y in ((-1.0, left), (1.0, right)):
        bend = [(side * half * 0.6, y + 0.28), (side * 0.44, y + 0.28), (side * 0.44, y), (side * 0.29, y)]
        pen.body_shape([*bend, (side * 0.29, y + 0.15), (side * half * 0.6, y + 0.15)])
    pen.body_shape(
        [
            *[(x * half, y * half * 0.9 + top + half) for x, y in oval(0, 0, 1)[11:]],
            (half, 0.34),
            (-half, 0.34),
        ]
    )
    form.finish_body(pen, (-0.44, top, 0.44, 0.34), joined=True)
    _fruits(pen, [(0, top + 0.01), (-0.365, left), (0.365, right)], span(form.place, 0.05, 0.07))
    _pot(pen, 0.3, 0.28)


def _fern(pen: Pen, form: Form) -> None:
    length, fat = span(form.a, 0.56, 0.68), span(form.b, 0.07, 0.1)
    spread = span(form.c, 56, 76)
    root: Point = (0.0, 0.24)
    for i in (0, 4, 1, 3, 2):
        leaf = [
            (root[0] + x, root[1] + y) for x, y in ((0, 0), (-fat, -length * 0.5), (0, -length), (fat, -length * 0.5))
        ]
        pen.body_shape(turned(smooth(leaf, 1), *root, spread * (i - 2) / 2))
    form.finish_body(pen, (-0.5, -0.42, 0.5, 0.24))
    _pot(pen, 0.2, span(form.place, 0.18, 0.28))


def _flower(pen: Pen, form: Form) -> None:
    petals = 5 + round(form.a * 3)
    radius = span(form.b, 0.11, 0.14)
    pen.line([(0, -0.1), (0, 0.5)], _STALK, 0.06)
    for side in (-1.0, 1.0):
        y = span(form.c, 0.24, 0.36)
        pen.shape(
            smooth([(0, y + 0.1), (side * 0.12, y - 0.06), (side * 0.34, y - 0.1), (side * 0.2, y + 0.08)], 1),
            _STALK,
        )
    for i in range(petals):
        turn = 2 * math.pi * i / petals
        pen.body_shape(oval(0.22 * math.sin(turn), -0.16 - 0.22 * math.cos(turn), radius))
    pen.body_shape(oval(0, -0.16, 0.2))
    form.finish_body(pen, (-0.36, -0.5, 0.36, 0.2))
    pen.shape(oval(0, -0.16, span(form.place, 0.1, 0.14)), pen.accent)


def _eye(pen: Pen, x: float, y: float, radius: float = 0.05) -> None:
    pen.shape(oval(x, y, radius), LIGHT, edge=False)
    pen.shape(oval(x, y, radius * 0.55), DARK, edge=False)


def _wing(pen: Pen, form: Form, x: float, y: float, size: float) -> None:
    """An accent wing, folded: a drop that points back and down."""
    wing = [
        (x + size * 0.5, y - size * 0.3),
        (x + size * 0.3, y + size * 0.35),
        (x - size * 0.9, y + size * 0.3),
        (x - size * 0.2, y - size * 0.35),
    ]
    pen.shape(turned(smooth(wing, 2), x, y, span(form.place, -14, 14)), pen.accent)


def _songbird(pen: Pen, form: Form) -> None:
    rx, head = span(form.a, 0.27, 0.33), span(form.b, 0.15, 0.2)
    for x in (-0.02, 0.1):
        pen.line([(x, 0.28), (x, 0.5), (x + 0.08, 0.5)], DARK, 0.03)
    tail = span(form.c, -0.16, 0.16)
    pen.body_shape([(-0.2, -0.02), (-0.5, tail - 0.06), (-0.5, tail + 0.08), (-0.16, 0.2)])
    pen.shape([(0.3, -0.24), (0.5, -0.16), (0.3, -0.1)], _BEAK)
    pen.body_shape(oval(0, 0.08, rx, 0.25))
    pen.body_shape(oval(0.2, -0.18, head))
    form.finish_body(pen, (-0.4, -0.3, 0.36, 0.33), joined=True)
    _wing(pen, form, -0.06, 0.08, 0.24)
    _eye(pen, 0.24, -0.21)


def _heron(pen: Pen, form: Form) -> None:
    body_y = span(form.a, 0.0, 0.1)
    for x in (-0.1, 0.04):
        pen.line([(x, body_y + 0.1), (x, 0.5), (x + 0.1, 0.5)], DARK, 0.03)
    bend = span(form.b, 0.08, 0.2)
    pen.shape([(0.26, -0.47), (0.52, -0.4), (0.26, -0.34)], _BEAK)
    neck = [
        (0.06, body_y),
        (bend + 0.1, body_y - 0.2),
        (0.06, -0.3),
        (0.1, -0.5),
        (0.3, -0.5),
        (0.32, -0.34),
        (0.2, -0.3),
    ]
    pen.body_shape(smooth([*neck, (bend + 0.22, body_y - 0.18), (0.22, body_y + 0.06)], 1))
    pen.body_shape(
        smooth(
            [
                (-0.5, body_y + 0.1),
                (-0.26, body_y - 0.18),
                (0.22, body_y - 0.14),
                (0.3, body_y + 0.1),
                (-0.1, body_y + 0.26),
            ],
            2,
        )
    )
    form.finish_body(pen, (-0.42, -0.46, 0.3, body_y + 0.2), joined=True)
    _wing(pen, form, -0.08, body_y + 0.02, span(form.c, 0.2, 0.26))
    _eye(pen, 0.22, -0.42, 0.045)


def _owl(pen: Pen, form: Form) -> None:
    half = span(form.a, 0.26, 0.36)
    ear = span(form.b, 0.06, 0.16)
    for x in (-0.12, 0.12):
        pen.shape(oval(x, 0.47, 0.08, 0.04), _BEAK)
    top = -0.4
    right: list[Point] = [
        (half * 0.4, top),
        (half, top - ear),
        (half + 0.02, 0.0),
        (half + 0.04, 0.2),
        (half * 0.9, 0.38),
    ]
    right.append((half * 0.5, 0.46))
    pen.body_shape([*right, *[(-x, y) for x, y in reversed(right)]])
    form.finish_body(pen, (-half, top, half, 0.46))
    for side in (-1.0, 1.0):
        outer = side * (half + 0.07)
        pen.shape(
            smooth([(side * half * 0.85, -0.1), (outer, 0.0), (outer, 0.3), (side * half * 0.6, 0.42)], 1),
            pen.accent,
        )
        pen.shape(oval(side * half * 0.45, -0.2, span(form.c, 0.11, 0.15)), LIGHT)
        pen.shape(oval(side * half * 0.45, -0.2, 0.055), DARK, edge=False)
    pen.shape([(-0.06, -0.12), (0.06, -0.12), (0, 0.0)], _BEAK)


def _duck(pen: Pen, form: Form) -> None:
    breast, head = span(form.a, 0.2, 0.28), span(form.b, 0.14, 0.18)
    hx, hy = 0.22, span(form.c, -0.26, -0.16)
    pen.shape([(hx + 0.1, hy - 0.02), (hx + 0.3, hy + 0.0), (hx + 0.3, hy + 0.08), (hx + 0.1, hy + 0.1)], _BEAK)
    pen.body_shape(
        smooth(
            [
                (-0.54, -0.06),
                (-0.2, 0.04),
                (0.12, hy),
                (0.36, hy),
                (0.42, 0.2),
                (0.24, 0.14 + breast),
                (-0.3, 0.14 + breast),
            ],
            2,
        )
    )
    pen.body_shape(oval(hx, hy, head))
    form.finish_body(pen, (-0.46, hy - 0.1, 0.36, 0.36), joined=True)
    pen.shape(rect(hx - head * 0.75, hy + head * 0.75, hx + head * 0.8, hy + head * 0.75 + 0.07), pen.accent)
    _wing(pen, form, -0.08, 0.16, 0.26)
    _eye(pen, hx + 0.04, hy - 0.04)


def _parrot(pen: Pen, form: Form) -> None:
    half = span(form.a, 0.17, 0.23)
    tail = span(form.b, 0.06, 0.12)
    pen.line([(-0.4, 0.2), (0.4, 0.2)], _BARK, 0.05)
    pen.shape([(-0.06, 0.1), (-0.2 - tail, 0.52), (-0.05 - tail, 0.52), (0.06, 0.16)], pen.accent)
    pen.shape(smooth([(0.14, -0.42), (0.34, -0.34), (0.3, -0.12), (0.2, -0.2)], 1), DARK)
    pen.body_shape(
        smooth(
            [
                (0.0, -0.54),
                (0.26, -0.46),
                (half + 0.04, -0.1),
                (half - 0.04, 0.2),
                (-0.08, 0.3),
                (-half - 0.06, 0.1),
                (-half, -0.3),
            ],
            2,
        )
    )
    form.finish_body(pen, (-half, -0.48, half, 0.26))
    for i in range(3):
        x = -0.06 + 0.09 * i
        pen.shape([(x, -0.46), (x - 0.12, -0.46 - span(form.c, 0.04, 0.1)), (x + 0.06, -0.49)], pen.accent)
    _wing(pen, form, -0.06, 0.0, 0.2)
    _eye(pen, 0.1, -0.34)


PLANT = {"tree": _tree, "bush": _bush, "cactus": _cactus, "fern": _fern, "flower": _flower}
BIRD = {"songbird": _songbird, "heron": _heron, "owl": _owl, "duck": _duck, "parrot": _parrot}
