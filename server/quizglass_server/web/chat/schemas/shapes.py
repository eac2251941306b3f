"""The values that a schema allows, by their types. The values in an object or array are named and not yet looked at."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Protocol, Self, TypeVar

from quizglass_server.web.chat.schemas.limits import SchemaRefused
from quizglass_server.web.chat.schemas.numbers import Numbers
from quizglass_server.web.chat.schemas.strings import Strings

Need = tuple[int, ...]
"""Schemas, by their numbers, all of which a value has to be valid under; none: any value."""
MOST_ALTERNATIVES = 64
"""Of one type, for one value."""


class _Set(Protocol):
    def __and__(self, other: Self) -> Self: ...


Kind = TypeVar("Kind", bound=_Set)
Listed = TypeVar("Listed", Strings, Numbers)
LITERALS = frozenset({"true", "false", "null"})


@dataclass(frozen=True)
class Arrays:
    """A set of arrays."""

    first: tuple[Need, ...] = ()
    """What the first items need, each at its position."""
    rest: Need | None = ()
    """What items behind them need; None: there are none."""
    least: int = 0
    most: int | None = None
    longer: bool = True
    """Whether items behind the first are written, as far as there need not be any."""

    def need(self, position: int) -> Need | None:
        """What the item at a position needs; None: there is none."""
        return self.first[position] if position < len(self.first) else self.rest

    def __and__(self, other: Arrays) -> Arrays:
        """Arrays that are in both sets."""
        first: list[Need] = []
        rest = _both(self.rest, other.rest)
        for position in range(max(len(self.first), len(other.first))):
            need = _both(self.need(position), other.need(position))
            if need is None:
                rest = None
                break
            first.append(need)
        least, most = max(self.least, other.least), _least(self.most, other.most)
        return Arrays(tuple(first), rest, least, most, self.longer and other.longer)


@dataclass(frozen=True)
class Objects:
    """A set of objects."""

    properties: tuple[tuple[str, Need | None], ...] = ()
    """What the values of named properties need, in the order in which they are written; None: they are not there."""
    required: frozenset[str] = frozenset()
    """Names of those that are there in any case; each is among the properties."""
    rest: Need | None = ()
    """What the values of all other properties need; None: there are none."""
    names: Need = ()
    """What the names of properties need."""
    least: int = 0
    most: int | None = None
    further: bool = True
    """Whether other properties than the named ones are written."""

    def need(self, name: str) -> Need | None:
        """What the value of a property needs; None: it is not there."""
        return dict(self.properties).get(name, self.rest)

    def __and__(self, other: Objects) -> Objects:
        """Objects that are in both sets."""
        named = dict.fromkeys(name for each in (self, other) for name, _ in each.properties)
        here, there = dict(self.properties), dict(other.properties)
        return Objects(
            tuple((name, _both(here.get(name, self.rest), there.get(name, other.rest))) for name in named),
            self.required | other.required,
            _both(self.rest, other.rest),
            united_needs(self.names, other.names),
            max(self.least, other.least),
            _least(self.most, other.most),
            self.further and other.further,
        )


@dataclass(frozen=True)
class ValueShape:
    """A set of values: of each type, those in any of its sets."""

    strings: tuple[Strings, ...] = ()
    numbers: tuple[Numbers, ...] = ()
    literals: frozenset[str] = frozenset()
    arrays: tuple[Arrays, ...] = ()
    objects: tuple[Objects, ...] = ()

    def __and__(self, other: ValueShape) -> ValueShape:
        """Values that are in both sets."""
        return ValueShape(
            _each_with_each(self.strings, other.strings),
            _each_with_each(self.numbers, other.numbers),
            self.literals & other.literals,
            _each_with_each(self.arrays, other.arrays),
            _each_with_each(self.objects, other.objects),
        )

    def __or__(self, other: ValueShape) -> ValueShape:
        """Values that are in either set."""
        return ValueShape(
            _few(_listed((*self.strings, *other.strings))),
            _few(_listed((*self.numbers, *other.numbers))),
            self.literals | other.literals,
            _few((*self.arrays, *other.arrays)),
            _few((*self.objects, *other.objects)),
        )


NOTHING = ValueShape()
ANYTHING = ValueShape((Strings(),), (Numbers(),), LITERALS, (Arrays(),), (Objects(),))
TYPES = {
    "string": ValueShape(strings=ANYTHING.strings),
    "number": ValueShape(numbers=ANYTHING.numbers),
    "integer": ValueShape(numbers=(Numbers(whole=True),)),
    "boolean": ValueShape(literals=LITERALS - {"null"}),
    "null": ValueShape(literals=frozenset({"null"})),
    "array": ValueShape(arrays=ANYTHING.arrays),
    "object": ValueShape(objects=ANYTHING.objects),
}


def narrowed(shape: ValueShape) -> ValueShape:
    """The values of those types that a shape says something of, where it leaves out no type.

    A schema that has nothing but properties means objects, though texts are valid under it too.
    """
    parts = {each.name: getattr(shape, each.name) for each in fields(ValueShape)}
    told = {name: part for name, part in parts.items() if part != getattr(ANYTHING, name)}
    return ValueShape(**told) if told and all(parts.values()) and shape.literals == LITERALS else shape


def _each_with_each(ones: tuple[Kind, ...], others: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """What is in any of some sets and in any of some others."""
    if len(ones) * len(others) > MOST_ALTERNATIVES:
        raise _too_many()
    return _few(tuple(one & other for one in ones for other in others))


def _few(sets: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """The sets, each once."""
    once = tuple(dict.fromkeys(sets))
    if len(once) > MOST_ALTERNATIVES:
        raise _too_many()
    return once


def _too_many() -> SchemaRefused:
    return SchemaRefused("", f"more than {MOST_ALTERNATIVES} alternatives of one type; leave some out")


def _listed(sets: tuple[Listed, ...]) -> tuple[Listed, ...]:
    """The sets, with those that are plain lists of values made one."""
    lists = tuple(each for each in sets if each.is_list)
    if len(lists) < 2:
        return sets
    every = frozenset(value for each in lists for value in each.values or ())
    kept: list[Listed] = [each for each in sets if not each.is_list]
    kept.append(replace(lists[0], values=every))
    return tuple(kept)


def _both(one: Need | None, other: Need | None) -> Need | None:
    return None if one is None or other is None else united_needs(one, other)


def united_needs(one: Need, other: Need) -> Need:
    """What both need."""
    return tuple(dict.fromkeys((*one, *other)))


def _least(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)
