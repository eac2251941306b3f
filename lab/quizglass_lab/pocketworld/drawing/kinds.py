"""The drawing of every kind and shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quizglass_lab.pocketworld.drawing.canvas import Pen
from quizglass_lab.pocketworld.drawing.dishes import DISH
from quizglass_lab.pocketworld.drawing.form import Form
from quizglass_lab.pocketworld.drawing.goods import BOOK, PACKET
from quizglass_lab.pocketworld.drawing.living import BIRD, PLANT
from quizglass_lab.pocketworld.drawing.places import BUILDING, DEVICE
from quizglass_lab.pocketworld.drawing.vehicles import BOAT, CAR

DRAWINGS: Mapping[str, Mapping[str, Callable[[Pen, Form], None]]] = {
    "car": CAR,
    "boat": BOAT,
    "packet": PACKET,
    "building": BUILDING,
    "plant": PLANT,
    "bird": BIRD,
    "book": BOOK,
    "dish": DISH,
    "device": DEVICE,
}


def draw_kind(pen: Pen, kind: str, form: Form) -> None:
    """Draw one thing.  Raises ValueError for a kind or a shape that has no drawing."""
    shapes = DRAWINGS.get(kind)
    if shapes is None:
        raise ValueError(f"look.kind: {kind!r} has no drawing; use one of {', '.join(DRAWINGS)}")
    shape = shapes.get(form.shape)
    if shape is None:
        raise ValueError(f"look.shape: {form.shape!r} is no shape of a {kind}; use one of {', '.join(shapes)}")
    shape(pen, form)
