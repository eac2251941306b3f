"""Cars, seen from the side and driving to the right, and boats."""

from __future__ import annotations

from quizglass_lab.pocketworld.drawing.canvas import (
    DARK,
    GLASS,
    LIGHT,
    METAL,
    Pen,
    Point,
    oval,
    rect,
    smooth,
)
from quizglass_lab.pocketworld.drawing.form import Form, span


def _wheels(pen: Pen, form: Form, places: tuple[float, ...], radius: float) -> None:
    ground = 0.34
    for x in places:
        pen.shape(oval(x, ground - radius, radius), DARK, edge=False)
        pen.shape(oval(x, ground - radius, radius * span(form.b, 0.4, 0.58)), pen.accent, edge=False)


def _saloon(pen: Pen, form: Form) -> None:
    roof = span(form.a, -0.3, -0.16)
    back, front = span(form.c, -0.36, -0.24), span(form.c, 0.14, 0.24)
    body = [
        (-0.5, -0.02),
        (back - 0.06, -0.04),
        (back + 0.06, roof),
        (front - 0.08, roof),
        (front + 0.08, -0.03),
    ]
    pen.body_shape([*body, (0.47, 0.02), (0.5, 0.22), (-0.5, 0.22)])
    form.finish_body(pen, (-0.5, roof, 0.5, 0.22))
    middle = (back + front) / 2
    pen.shape(
        [
            (back + 0.02, -0.04),
            (back + 0.09, roof + 0.05),
            (middle - 0.02, roof + 0.05),
            (middle - 0.02, -0.04),
        ],
        GLASS,
    )
    pen.shape(
        [(middle + 0.02, -0.04), (middle + 0.02, roof + 0.05), (front - 0.1, roof + 0.05), (front, -0.04)],
        GLASS,
    )
    pen.shape(rect(0.4, 0.04, 0.5, 0.1), pen.accent)
    _wheels(pen, form, (-0.28, 0.28), span(form.b, 0.12, 0.16))


def _van(pen: Pen, form: Form) -> None:
    roof = span(form.a, -0.36, -0.26)
    nose = span(form.c, 0.2, 0.36)
    pen.body_shape([(-0.47, roof), (nose, roof), (0.47, -0.02), (0.5, 0.22), (-0.5, 0.22), (-0.5, roof + 0.04)])
    form.finish_body(pen, (-0.5, roof, 0.5, 0.22))
    pen.shape([(nose - 0.12, roof + 0.06), (nose - 0.01, roof + 0.06), (0.41, -0.03), (nose - 0.12, -0.03)], GLASS)
    pen.shape(rect(-0.42, roof - 0.06, span(form.place, -0.1, 0.15), roof), pen.accent)
    _wheels(pen, form, (-0.3, 0.28), span(form.b, 0.11, 0.15))


def _pickup(pen: Pen, form: Form) -> None:
    roof = span(form.a, -0.34, -0.22)
    cab = span(form.c, -0.14, 0.02)
    pen.body_shape(
        [
            (-0.5, -0.06),
            (cab, -0.06),
            (cab, roof),
            (cab + 0.24, roof),
            (cab + 0.32, -0.06),
            (0.5, -0.02),
            (0.5, 0.22),
            (-0.5, 0.22),
        ]
    )
    form.finish_body(pen, (-0.5, roof, 0.5, 0.22))
    pen.shape([(cab + 0.05, -0.05), (cab + 0.05, roof + 0.05), (cab + 0.2, roof + 0.05), (cab + 0.26, -0.05)], GLASS)
    pen.shape(rect(-0.4, -0.12, cab - 0.2, -0.06), pen.accent)
    _wheels(pen, form, (-0.3, 0.3), span(form.b, 0.13, 0.17))


def _coupe(pen: Pen, form: Form) -> None:
    roof = span(form.a, -0.2, -0.1)
    hump = span(form.c, -0.15, 0.05)
    outline: list[Point] = [
        (-0.52, -0.04),
        (hump - 0.22, -0.04),
        (hump - 0.06, roof),
        (hump + 0.12, roof),
        (hump + 0.3, 0.03),
    ]
    pen.body_shape(smooth([*outline, (0.54, 0.16), (0.52, 0.26), (-0.52, 0.26)], 1))
    form.finish_body(pen, (-0.5, roof, 0.5, 0.26))
    pen.shape(
        [(hump - 0.06, -0.03), (hump - 0.01, roof + 0.04), (hump + 0.1, roof + 0.04), (hump + 0.18, -0.02)],
        GLASS,
    )
    pen.shape(
        [
            (-0.52, -0.17),
            (-0.32, -0.17),
            (-0.36, -0.11),
            (-0.4, -0.03),
            (-0.45, -0.03),
            (-0.44, -0.11),
            (-0.52, -0.11),
        ],
        pen.accent,
    )
    _wheels(pen, form, (-0.3, 0.3), span(form.b, 0.12, 0.15))


def _buggy(pen: Pen, form: Form) -> None:
    top = span(form.a, -0.36, -0.22)
    pen.body_shape(
        smooth(
            [
                (-0.52, -0.1),
                (-0.3, -0.16),
                (-0.14, -0.06),
                (0.14, -0.04),
                (0.3, -0.14),
                (0.52, -0.06),
                (0.52, 0.24),
                (-0.52, 0.24),
            ],
            1,
        )
    )
    form.finish_body(pen, (-0.48, -0.14, 0.48, 0.16))
    lean = span(form.c, 0.0, 0.12)
    pen.line([(-0.34, -0.06), (-0.24 + lean, top), (0.1 + lean, top), (0.2, 0.0)], pen.accent, 0.05)
    pen.shape(rect(-0.1, -0.18, 0.0, -0.04), DARK)
    _wheels(pen, form, (-0.3, 0.31), span(form.b, 0.14, 0.18))


def _hull(pen: Pen, form: Form, top: float, rake: float) -> list[Point]:
    hull: list[Point] = [(-0.5, top), (0.5, top - rake), (0.36, 0.4), (-0.38, 0.4)]
    pen.body_shape(hull)
    return hull


def _sailboat(pen: Pen, form: Form) -> None:
    top = span(form.a, 0.1, 0.2)
    mast = span(form.c, -0.08, 0.12)
    pen.line([(mast, top), (mast, -0.5)], DARK, 0.035)
    _hull(pen, form, top, 0.04)
    pen.body_shape([(mast - 0.03, -0.47), (mast - 0.03, top - 0.06), (span(form.b, -0.5, -0.34), top - 0.06)])
    form.finish_body(pen, (-0.5, -0.45, 0.5, 0.4))
    pen.shape(
        [(mast + 0.04, span(form.place, -0.3, -0.16)), (mast + 0.04, top - 0.06), (mast + 0.3, top - 0.06)],
        pen.accent,
    )


def _ferry(pen: Pen, form: Form) -> None:
    top = span(form.a, 0.08, 0.16)
    deck = top - span(form.b, 0.16, 0.22)
    pen.shape(rect(span(form.place, -0.28, 0.1), deck - 0.34, span(form.place, -0.12, 0.26), deck), pen.accent)
    pen.body_shape([(-0.5, top), (0.5, top - 0.04), (0.36, 0.38), (-0.42, 0.38)])
    pen.body_shape(rect(-0.42, deck, span(form.c, 0.24, 0.38), top))
    pen.body_shape(rect(-0.34, deck - 0.15, span(form.c, 0.1, 0.26), deck))
    form.finish_body(pen, (-0.5, deck - 0.15, 0.5, 0.38))
    for i in range(5):
        pen.shape(rect(-0.36 + 0.13 * i, deck + 0.04, -0.29 + 0.13 * i, deck + 0.11), LIGHT)


def _steamer(pen: Pen, form: Form) -> None:
    top = span(form.a, 0.02, 0.12)
    house = span(form.c, -0.1, 0.06)
    pen.shape(
        [
            (house - 0.23, top + 0.04),
            (house - 0.21, -0.38),
            (house - 0.08, -0.38),
            (house - 0.06, top + 0.04),
        ],
        pen.accent,
    )
    pen.shape(rect(house - 0.23, -0.44, house - 0.06, -0.36), DARK)
    hull: list[Point] = [
        (-0.5, top),
        (-0.1, top + 0.04),
        (0.2, top + 0.02),
        (0.5, top - 0.14),
        (0.44, 0.14),
        (0.36, 0.38),
    ]
    pen.body_shape([*hull, (-0.4, 0.38), (-0.48, 0.2)])
    pen.body_shape(rect(house, span(form.b, -0.32, -0.2), house + 0.28, top + 0.04))
    form.finish_body(pen, (-0.48, -0.3, 0.48, 0.38), joined=True)
    pen.shape(rect(house + 0.06, span(form.b, -0.25, -0.14), house + 0.22, top - 0.06), GLASS)


def _rowboat(pen: Pen, form: Form) -> None:
    tip = span(form.a, -0.2, -0.05)
    dip = span(form.b, 0.06, 0.14)
    lean = span(form.c, -0.1, 0.1)
    pen.line([(lean - 0.26, -0.38), (lean + 0.16, 0.36)], METAL, 0.05)
    pen.shape(oval(lean - 0.27, -0.38, 0.1, 0.1), pen.accent)
    pen.body_shape(
        [
            (-0.5, tip),
            (-0.34, dip),
            (0.34, dip),
            (0.5, tip),
            (0.44, 0.24),
            (0.3, 0.34),
            (-0.3, 0.34),
            (-0.44, 0.24),
        ]
    )
    form.finish_body(pen, (-0.5, dip - 0.1, 0.5, 0.34))
    pen.shape(
        smooth([(-0.34, dip - 0.01), (0.34, dip - 0.01), (0.3, dip + 0.06), (-0.3, dip + 0.06)], 1),
        pen.accent,
    )


def _submarine(pen: Pen, form: Form) -> None:
    tower = span(form.c, -0.16, 0.1)
    fat = span(form.a, 0.18, 0.25)
    pen.line([(tower + 0.04, -0.2), (tower + 0.04, -0.42), (tower + 0.16, -0.42)], METAL, 0.05)
    pen.shape([(-0.42, 0.08), (-0.54, -0.1), (-0.54, 0.3)], pen.accent)
    pen.body_shape(rect(tower - 0.12, -0.24, tower + span(form.b, 0.12, 0.2), 0.08))
    pen.body_shape(oval(0.02, 0.1, 0.48, fat))
    form.finish_body(pen, (-0.46, -0.2, 0.5, 0.1 + fat), joined=True)
    for x in (-0.18, 0.04, 0.26):
        pen.shape(oval(x, 0.08, 0.065), LIGHT)


CAR = {"saloon": _saloon, "van": _van, "pickup": _pickup, "coupe": _coupe, "buggy": _buggy}
BOAT = {
    "sailboat": _sailboat,
    "steamer": _steamer,
    "rowboat": _rowboat,
    "ferry": _ferry,
    "submarine": _submarine,
}
