"""Packets (packaged goods) and books."""

from __future__ import annotations

from quizglass_lab.pocketworld.drawing.canvas import (
    CREAM,
    DARK,
    LIGHT,
    METAL,
    Pen,
    arc,
    darker,
    oval,
    rect,
    rounded,
    turned,
)
from quizglass_lab.pocketworld.drawing.form import Form, span


def _label(pen: Pen, form: Form, half: float, y: float) -> None:
    """A light label with an accent emblem: round, square or lozenge."""
    pen.shape(rounded(-half, y - 0.09, half, y + 0.09, 0.05), LIGHT)
    emblem = (oval(0, y, 0.06), rect(-0.055, y - 0.055, 0.055, y + 0.055), oval(0, y, half * 0.7, 0.045))
    pen.shape(emblem[min(2, int(form.place * 3))], pen.accent, edge=False)


def _box(pen: Pen, form: Form) -> None:
    half, top = span(form.a, 0.24, 0.36), span(form.b, -0.4, -0.24)
    depth = span(form.c, 0.06, 0.14)
    pen.shape([(-half, top), (-half + depth, top - depth), (half + depth, top - depth), (half, top)], pen.accent)
    pen.shape(
        [(half, top), (half + depth, top - depth), (half + depth, 0.46 - depth), (half, 0.46)],
        darker(pen.body, 0.3),
    )
    pen.body_shape(rect(-half, top, half, 0.46))
    form.finish_body(pen, (-half, top, half, 0.46))
    _label(pen, form, half * 0.66, span(form.place, 0.0, 0.2))


def _pouch(pen: Pen, form: Form) -> None:
    half, waist = span(form.a, 0.26, 0.38), span(form.b, 0.0, 0.06)
    crimp = [(-half + 2 * half * i / 8, -0.48 if i % 2 else -0.42) for i in range(9)]
    pen.body_shape(
        [
            *crimp,
            (half - waist, -0.3),
            (half + 0.06, 0.2),
            (half, 0.46),
            (-half, 0.46),
            (-half - 0.06, 0.2),
            (-half + waist, -0.3),
        ]
    )
    form.finish_body(pen, (-half, -0.46, half, 0.46))
    pen.shape(rect(-half, -0.36, half, span(form.c, -0.26, -0.2)), pen.accent)
    pen.shape(oval(0, 0.12, half * 0.6, 0.13), LIGHT)
    pen.shape(oval(0, 0.12, half * 0.3, 0.07), pen.accent, edge=False)


def _carton(pen: Pen, form: Form) -> None:
    half, shoulder = span(form.a, 0.2, 0.3), span(form.b, -0.26, -0.12)
    roof = half * span(form.c, 0.2, 0.6)
    pen.body_shape([(-half, shoulder), (-roof, -0.4), (roof, -0.4), (half, shoulder), (half, 0.48), (-half, 0.48)])
    form.finish_body(pen, (-half, shoulder - 0.1, half, 0.48))
    pen.shape(rect(-half, shoulder - 0.02, half, shoulder + 0.05), pen.accent)
    pen.shape(rect(-roof - 0.02, -0.49, roof + 0.02, -0.38), pen.accent)
    _label(pen, form, half * 0.7, span(form.place, 0.06, 0.24))


def _can(pen: Pen, form: Form) -> None:
    half, top = span(form.a, 0.26, 0.42), span(form.b, -0.34, -0.1)
    pen.body_shape([(-half, top), *arc(0, 0.36, half, 0.09, 180, 0, 10), (half, top)])
    form.finish_body(pen, (-half, top, half, 0.45))
    pen.shape(oval(0, top, half, 0.09), METAL)
    pen.shape(oval(0, top, half * 0.74, 0.05), pen.accent)
    _label(pen, form, half * 0.55, span(form.c, 0.14, 0.26))


def _bottle(pen: Pen, form: Form) -> None:
    half, neck = span(form.a, 0.16, 0.26), span(form.c, 0.06, 0.1)
    shoulder = span(form.b, -0.16, 0.04)
    pen.body_shape(
        [
            (-neck, -0.38),
            (neck, -0.38),
            (neck, shoulder - 0.16),
            (half, shoulder),
            (half, 0.5),
            (-half, 0.5),
            (-half, shoulder),
            (-neck, shoulder - 0.16),
        ]
    )
    form.finish_body(pen, (-half, shoulder - 0.1, half, 0.5))
    pen.shape(rect(-neck - 0.03, -0.5, neck + 0.03, -0.36), pen.accent)
    _label(pen, form, half * 0.78, span(form.place, 0.16, 0.32))


def _title(pen: Pen, form: Form, x: float, half: float, top: float) -> None:
    """A light title box with dark lines, and an accent emblem below it."""
    y = top + span(form.place, 0.1, 0.22)
    pen.shape(rect(x - half, y, x + half, y + 0.16), LIGHT)
    for i in (0.05, 0.11):
        pen.line([(x - half * 0.7, y + i), (x + half * 0.7, y + i)], DARK, 0.02)


def _upright(pen: Pen, form: Form) -> None:
    half, top = span(form.a, 0.25, 0.38), span(form.b, -0.5, -0.36)
    spine = span(form.c, 0.07, 0.15)
    pen.body_shape(rect(-half, top, half, 0.48))
    form.finish_body(pen, (-half + spine, top, half, 0.48))
    pen.shape(rect(-half, top, -half + spine, 0.48), pen.accent)
    _title(pen, form, spine / 2, (half - spine / 2) * 0.66, top)


def _thick(pen: Pen, form: Form) -> None:
    half, depth = span(form.a, 0.2, 0.28), span(form.c, 0.14, 0.22)
    top = span(form.b, -0.38, -0.26)
    left, right = -half - depth / 2, half - depth / 2
    pen.shape([(left, top), (left + depth, top - 0.12), (right + depth, top - 0.12), (right, top)], CREAM)
    pen.shape([(right, top), (right + depth, top - 0.12), (right + depth, 0.34), (right, 0.46)], CREAM)
    for share in (0.3, 0.6):
        x = right + depth * share
        pen.line([(x, top - 0.12 * share), (x, 0.46 - 0.12 * share)], METAL, 0.012)
    pen.body_shape(rect(left, top, right, 0.46))
    form.finish_body(pen, (left, top, right, 0.46))
    pen.shape(rect(left - 0.06, top, left + 0.04, 0.46), pen.accent)
    _title(pen, form, (left + right) / 2 + 0.03, half * 0.62, top)


def _open(pen: Pen, form: Form) -> None:
    """An opened book lying on its pages: two leaning covers, like a roof."""
    wide, top = span(form.a, 0.4, 0.5), span(form.b, -0.34, -0.18)
    ridge = span(form.c, 0.04, 0.1)
    for side in (-1.0, 1.0):
        pen.shape([(0, top + 0.1), (side * wide * 0.92, top - 0.04), (side * wide * 0.92, 0.3), (0, 0.42)], CREAM)
        pen.body_shape([(side * ridge, top + 0.1), (side * wide, top), (side * wide, 0.34), (side * ridge, 0.46)])
    form.finish_body(pen, (-wide, top, wide, 0.44))
    pen.shape(rect(-ridge, top + 0.08, ridge, 0.47), pen.accent)
    pen.shape([(0.16, top + 0.17), (wide - 0.08, top + 0.13), (wide - 0.08, top + 0.26), (0.16, top + 0.3)], LIGHT)


def _spiral(pen: Pen, form: Form) -> None:
    half, top = span(form.a, 0.26, 0.36), span(form.b, -0.4, -0.26)
    pen.shape(rect(-half + 0.04, top + 0.03, half + 0.04, 0.48), CREAM)
    pen.body_shape(rounded(-half, top, half, 0.45, 0.05))
    form.finish_body(pen, (-half, top, half, 0.45))
    # A bar with holes: single rings are read as letters by OCR.
    pen.shape(rounded(-half - 0.03, top - 0.08, half + 0.03, top + 0.05, 0.05), DARK)
    for i in range(4):
        pen.shape(oval(-half + (i + 0.5) * half * 0.5, top - 0.015, 0.026), LIGHT, edge=False)
    corner = turned(rect(-0.12, -0.08, 0.12, 0.08), 0, 0, span(form.place, -20, 20))
    y = span(form.c, 0.0, 0.24)
    pen.shape([(px * half * 4, py * 1.4 + y) for px, py in corner], pen.accent)


def _wide(pen: Pen, form: Form) -> None:
    """A picture book: a cover wider than high, with a picture on it."""
    half, top = span(form.a, 0.44, 0.5), span(form.b, -0.32, -0.2)
    band = span(form.c, 0.08, 0.14)
    pen.shape(rect(-half + 0.04, top + 0.04, half + 0.03, 0.36), CREAM)
    pen.body_shape(rect(-half, top, half, 0.32))
    form.finish_body(pen, (-half, top, half, 0.32))
    pen.shape(rect(-half, top, -half + band, 0.32), pen.accent)
    x, y = span(form.place, 0.0, 0.2), (top + 0.32) / 2
    pen.shape(rect(x - 0.18, y - 0.14, x + 0.18, y + 0.14), LIGHT)
    pen.shape([(x - 0.14, y + 0.1), (x, y - 0.09), (x + 0.14, y + 0.1)], pen.accent)


PACKET = {"box": _box, "pouch": _pouch, "carton": _carton, "can": _can, "bottle": _bottle}
BOOK = {"upright": _upright, "open": _open, "thick": _thick, "wide": _wide, "spiral": _spiral}
