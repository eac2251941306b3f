"""Buildings and devices."""

from __future__ import annotations

from quizglass_lab.pocketworld.drawing.canvas import (
    DARK,
    GLASS,
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


def _door(pen: Pen, x: float, half: float, height: float) -> None:
    pen.shape(
        [*arc(x, 0.5 - height + half, half, half, 180, 360, 6), (x + half, 0.5), (x - half, 0.5)],
        DARK,
        edge=False,
    )


def _windows(pen: Pen, places: list[tuple[float, float]], half: float) -> None:
    for x, y in places:
        pen.shape(rect(x - half, y - half * 1.2, x + half, y + half * 1.2), GLASS)


def _tower(pen: Pen, form: Form) -> None:
    half, eaves = span(form.a, 0.15, 0.23), span(form.b, -0.28, -0.2)
    pen.body_shape([(-half, eaves), (half, eaves), (half + 0.05, 0.5), (-half - 0.05, 0.5)])
    form.finish_body(pen, (-half, eaves, half, 0.5))
    over = span(form.c, 0.03, 0.1)
    pen.shape([(-half - over, eaves), (0, -0.52), (half + over, eaves)], pen.accent)
    _windows(pen, [(0, eaves + 0.12), (0, eaves + 0.32)], 0.055)
    _door(pen, 0, 0.07, 0.16)


def _house(pen: Pen, form: Form) -> None:
    half, eaves = span(form.a, 0.34, 0.44), span(form.b, -0.1, 0.06)
    peak = span(form.c, -0.46, -0.3)
    chimney = span(form.place, -0.3, 0.18)
    pen.shape(rect(chimney, peak - 0.02, chimney + 0.11, eaves), darker(pen.body, 0.3))
    pen.body_shape([(-half, eaves), (0, peak), (half, eaves), (half, 0.5), (-half, 0.5)])
    form.finish_body(pen, (-half, (peak + eaves) / 2, half, 0.5))
    roof = [(0, peak - 0.06), (half + 0.08, eaves), (half + 0.08, eaves + 0.09), (0, peak + 0.07)]
    pen.shape([*roof, (-half - 0.08, eaves + 0.09), (-half - 0.08, eaves)], pen.accent)
    _windows(pen, [(-half * 0.62, 0.2), (half * 0.62, 0.2)], 0.075)
    _door(pen, 0, 0.09, 0.28)


def _dome(pen: Pen, form: Form) -> None:
    half, spring = span(form.a, 0.34, 0.46), span(form.b, -0.02, 0.12)
    rise = span(form.c, 0.3, 0.44)
    pen.shape(rect(-0.02, spring - rise - 0.12, 0.02, spring), DARK, edge=False)
    pen.shape(rect(0.0, spring - rise - 0.14, 0.16, spring - rise - 0.05), pen.accent)
    pen.body_shape(arc(0, spring, half * 0.9, rise, 180, 360, 16))
    pen.body_shape(rect(-half, spring, half, 0.5))
    form.finish_body(pen, (-half, spring - rise, half, 0.5))
    pen.shape(rect(-half - 0.03, spring - 0.02, half + 0.03, spring + 0.045), pen.accent)
    _windows(pen, [(-half * 0.62, 0.28), (half * 0.62, 0.28)], 0.06)
    _door(pen, 0, 0.1, 0.28)


def _hall(pen: Pen, form: Form) -> None:
    top, peak = span(form.a, -0.14, -0.02), span(form.b, -0.36, -0.26)
    columns = 3 + round(form.c * 2)
    pen.body_shape([(-0.44, top), (0, peak), (0.44, top), (0.44, 0.46), (-0.44, 0.46)])
    form.finish_body(pen, (-0.44, peak, 0.44, 0.46))
    for i in range(columns):
        x = -0.36 + 0.72 * i / (columns - 1)
        pen.shape(rect(x - 0.03, top, x + 0.03, 0.44), LIGHT)
    pen.shape([(-0.5, top), (0, peak - 0.07), (0.5, top), (0.4, top), (0, peak + 0.03), (-0.4, top)], pen.accent)
    pen.shape(rect(-0.5, top - 0.01, 0.5, top + 0.05), pen.accent)
    pen.shape(rect(-0.5, 0.42, 0.5, 0.5), METAL)


def _mill(pen: Pen, form: Form) -> None:
    top, foot = span(form.a, 0.15, 0.2), span(form.b, 0.27, 0.36)
    hub = -0.2
    pen.body_shape([(-top, -0.22), (top, -0.22), (foot, 0.5), (-foot, 0.5)])
    form.finish_body(pen, (-foot, -0.22, foot, 0.5))
    pen.shape(arc(0, -0.2, top + 0.04, 0.17, 180, 360, 10), DARK)
    sail = [(-0.02, 0.0), (-0.02, -0.33), (0.07, -0.33), (0.07, -0.08), (0.02, 0.0)]
    for quarter in range(4):
        at = [(x, y + hub) for x, y in sail]
        pen.shape(turned(at, 0, hub, quarter * 90 + span(form.c, 25, 65)), pen.accent)
    pen.shape(oval(0, hub, 0.04), LIGHT)
    _door(pen, 0, 0.08, 0.2)


def _radio(pen: Pen, form: Form) -> None:
    top = span(form.a, -0.22, -0.06)
    pen.line([(0.34, top), (span(form.b, 0.1, 0.46), -0.48)], METAL, 0.04)
    pen.body_shape(rounded(-0.5, top, 0.5, 0.4, 0.07))
    form.finish_body(pen, (-0.5, top, 0.5, 0.4))
    middle = (top + 0.4) / 2
    pen.shape(oval(-0.22, middle, span(form.c, 0.13, 0.18)), DARK)
    pen.shape(oval(-0.22, middle, 0.08), METAL, edge=False)
    pen.shape(rect(0.06, top + 0.08, 0.42, top + 0.19), LIGHT)
    for x in (0.12, 0.34) if form.place > 0.5 else (0.24,):
        pen.shape(oval(x, 0.26, 0.07), pen.accent)


def _camera(pen: Pen, form: Form) -> None:
    top = span(form.a, -0.22, -0.1)
    bump = span(form.c, -0.26, 0.14)
    pen.shape(
        [(bump - 0.12, top), (bump - 0.08, top - 0.13), (bump + 0.12, top - 0.13), (bump + 0.16, top)],
        pen.accent,
    )
    pen.shape(rect(0.28, top - 0.06, 0.42, top), DARK)
    pen.body_shape(rounded(-0.5, top, 0.5, 0.38, 0.08))
    form.finish_body(pen, (-0.5, top, 0.5, 0.38))
    x, y, radius = span(form.place, -0.08, 0.12), (top + 0.4) / 2, span(form.b, 0.18, 0.24)
    pen.shape(oval(x, y, radius), DARK)
    pen.shape(oval(x, y, radius * 0.72), GLASS)
    pen.shape(oval(x, y, radius * 0.36), pen.accent)


def _phone(pen: Pen, form: Form) -> None:
    half, screen = span(form.a, 0.2, 0.29), span(form.b, -0.14, 0.02)
    pen.line([(half - 0.07, -0.4), (half - 0.07, -0.52)], DARK, 0.07)
    pen.body_shape(rounded(-half, -0.42, half, 0.5, 0.08))
    form.finish_body(pen, (-half, -0.42, half, 0.5))
    pen.shape(rect(-half + 0.06, -0.34, half - 0.06, screen), GLASS)
    step = (half - 0.02) * 0.6
    for row in range(2):
        for column in (-1, 0, 1):
            y = screen + 0.11 + row * span(form.c, 0.12, 0.16)
            pen.shape(oval(column * step, y, 0.055), pen.accent)


def _lamp(pen: Pen, form: Form) -> None:
    wide, top = span(form.a, 0.3, 0.44), span(form.c, 0.12, 0.24)
    rim = span(form.b, -0.02, 0.12)
    pen.shape(rect(-0.03, rim, 0.03, 0.44), METAL)
    pen.body_shape([(-top, -0.46), (top, -0.46), (wide, rim), (-wide, rim)])
    form.finish_body(pen, (-wide, -0.46, wide, rim))
    pen.shape(arc(0, 0.5, span(form.place, 0.2, 0.32), 0.14, 180, 360, 10), pen.accent)


def _robot(pen: Pen, form: Form) -> None:
    head, chest = span(form.a, 0.18, 0.28), span(form.b, 0.22, 0.3)
    for side in (-1.0, 1.0):
        pen.line([(side * chest, 0.0), (side * 0.44, span(form.c, -0.14, 0.24))], METAL, 0.08)
        pen.shape(rect(side * 0.13 - 0.07, 0.34, side * 0.13 + 0.07, 0.5), DARK)
    pen.line([(0, -0.42), (0, -0.5)], DARK, 0.04)
    pen.body_shape(rounded(-head, -0.44, head, -0.1, 0.05))
    pen.body_shape(rounded(-chest, -0.08, chest, 0.36, 0.05))
    form.finish_body(pen, (-chest, -0.44, chest, 0.36))
    for side in (-1.0, 1.0):
        pen.shape(oval(side * head * 0.5, -0.28, 0.065), LIGHT)
        pen.shape(oval(side * head * 0.5, -0.28, 0.03), DARK, edge=False)
    pen.shape(rect(-chest * 0.55, 0.05, chest * 0.55, span(form.place, 0.16, 0.24)), pen.accent)


BUILDING = {"tower": _tower, "house": _house, "dome": _dome, "hall": _hall, "mill": _mill}
DEVICE = {"radio": _radio, "camera": _camera, "phone": _phone, "lamp": _lamp, "robot": _robot}
