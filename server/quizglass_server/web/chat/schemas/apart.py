"""Whether two sets of values have none in common, as far as lists of values and named properties show it."""

from __future__ import annotations

from collections.abc import Callable

from quizglass_server.web.chat.schemas.numbers import Numbers
from quizglass_server.web.chat.schemas.shapes import Need, Objects, ValueShape
from quizglass_server.web.chat.schemas.strings import Strings

ShapeOf = Callable[[Need], ValueShape]
"""The values that a need allows."""


def apart(one: ValueShape, two: ValueShape, shapes: ShapeOf) -> bool:
    """Whether no value is in both sets."""
    if one.literals & two.literals or (one.arrays and two.arrays):
        return False
    if not all(_listed_apart(a, b) for a in one.strings for b in two.strings):
        return False
    if not all(_listed_apart(a, b) for a in one.numbers for b in two.numbers):
        return False
    return all(_objects_apart(a, b, shapes) for a in one.objects for b in two.objects)


def begin_alike(one: Objects, two: Objects, shapes: ShapeOf) -> bool:
    """Whether objects of two sets, written property by property, may begin in the same way up to a value that has
    values of its own.
    """
    for (name, need), (other, needed) in zip(one.properties, two.properties, strict=False):
        if name not in one.required or other not in two.required:
            return True
        if name != other or need is None or needed is None:
            return False
        values = shapes(need), shapes(needed)
        if any(shape.arrays or shape.objects for shape in values):
            return True
        if apart(*values, shapes):
            return False
    return True


def _objects_apart(one: Objects, two: Objects, shapes: ShapeOf) -> bool:
    """Whether a property that both have tells them apart, or one that only one of them may have."""
    for name in sorted(one.required | two.required):
        need, needed = one.need(name), two.need(name)
        if need is None or needed is None:
            return True
        if name in one.required & two.required:
            values = shapes(need), shapes(needed)
            if not any(shape.objects or shape.arrays for shape in values) and apart(*values, shapes):
                return True
    return False


def _listed_apart(one: Strings | Numbers, two: Strings | Numbers) -> bool:
    """Whether two sets are lists of values that have none in common."""
    return one.values is not None and two.values is not None and one.values.isdisjoint(two.values)
