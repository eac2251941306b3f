"""Dishes: food in bowls, on plates and in pots."""

from __future__ import annotations

import math

from quizglass_lab.pocketworld.drawing.canvas import (
    CREAM,
    DARK,
    LIGHT,
    METAL,
    Pen,
    arc,
    oval,
    rect,
    rounded,
    turned,
)
from quizglass_lab.pocketworld.drawing.form import Form, span


def _soup(pen: Pen, form: Form) -> None:
    rim, deep = span(form.a, -0.12, 0.0), span(form.b, 0.34, 0.44)
    heap = span(form.c, 0.1, 0.18)
    pen.shape(arc(0, rim, 0.36, heap, 180, 360, 10), pen.accent)
    for x in (-0.16, 0.1):
        pen.shape(oval(x, rim - heap * 0.55, 0.06, 0.045), CREAM)
    pen.body_shape(arc(0, rim, 0.48, deep, 0, 180, 14))
    form.finish_body(pen, (-0.48, rim, 0.48, rim + deep))
    pen.shape(rect(-0.5, rim - 0.03, 0.5, rim + 0.04), LIGHT)
    pen.shape(rect(-0.16, rim + deep - 0.02, 0.16, rim + deep + 0.06), DARK)


def _salad(pen: Pen, form: Form) -> None:
    pen.shape(oval(0, 0, 0.5), LIGHT)
    radius = span(form.a, 0.34, 0.41)
    pen.body_shape(oval(0, 0, radius))
    form.finish_body(pen, (-radius, -radius, radius, radius))
    count = 3 + round(form.b * 2)
    away = span(form.c, 0.13, 0.2)
    for i in range(count):
        turn = 2 * math.pi * (i + form.place) / count
        pen.shape(oval(away * math.sin(turn), -away * math.cos(turn), 0.075), pen.accent)


def _pie(pen: Pen, form: Form) -> None:
    """A slice of cake: a wedge seen from the side, layers and a topping."""
    high, tip = span(form.a, -0.24, -0.1), span(form.b, -0.5, -0.4)
    icing = span(form.c, 0.05, 0.1)
    pen.body_shape([(tip, high), (0.1, high - 0.2), (0.46, high)])
    pen.body_shape([(tip, high), (0.46, high), (0.46, 0.36), (tip + 0.03, 0.36)])
    form.finish_body(pen, (tip, high - 0.1, 0.46, 0.36))
    pen.shape(rect(tip, high, 0.46, high + icing), pen.accent)
    pen.shape(oval(span(form.place, 0.05, 0.25), high - 0.2, 0.09), pen.accent)
    pen.shape(rect(-0.5, 0.36, 0.5, 0.42), METAL)


def _cake(pen: Pen, form: Form) -> None:
    """A cake of two or three tiers on a stand, with a candle and icing in the accent colour."""
    tiers = 2 + round(form.a)
    thick, wide = 0.66 / tiers, span(form.b, 0.34, 0.44)
    for i in range(tiers):
        half = wide * (1 - i * span(form.c, 0.16, 0.26))
        pen.body_shape(rect(-half, 0.36 - (i + 1) * thick, half, 0.36 - i * thick))
    form.finish_body(pen, (-wide, -0.3, wide, 0.36))
    for i in range(1, tiers + 1):
        half, y = wide * (1 - (i - 1) * span(form.c, 0.16, 0.26)), 0.36 - i * thick
        pen.shape(rounded(-half - 0.02, y - 0.025, half + 0.02, y + 0.03, 0.025), pen.accent)
    pen.shape(rect(-0.03, -0.46, 0.03, -0.32), pen.accent)
    pen.shape(rect(-0.5, 0.36, 0.5, 0.42), LIGHT)
    pen.shape(rect(-0.16, 0.42, 0.16, 0.48), LIGHT)


def _skewer(pen: Pen, form: Form) -> None:
    """Pieces on a stick that leans upwards: most in the body colour, every other small one an accent."""
    lean = span(form.c, -42, -24)
    pieces = 3 + round(form.a)
    step = 0.8 / pieces
    pen.line(turned([(-0.56, 0), (0.56, 0)], 0, 0, lean), METAL, 0.04)
    tall = span(form.b, 0.14, 0.22)
    for i in range(pieces):
        x = -0.4 + (i + 0.5) * step
        pen.body_shape(turned(rounded(x - step * 0.4, -tall, x + step * 0.4, tall, 0.07), 0, 0, lean))
    form.finish_body(pen, (-0.42, -0.34, 0.42, 0.34))
    for i in range(pieces - 1):
        x = -0.4 + (i + 1) * step
        high = span(form.place, 0.1, 0.15)
        pen.shape(turned(oval(x, 0, step * 0.15, high), 0, 0, lean), pen.accent)


DISH = {"soup": _soup, "cake": _cake, "pie": _pie, "skewer": _skewer, "salad": _salad}
