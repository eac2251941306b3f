"""Which keywords of a JSON schema are followed, how, and what becomes of the others.

A keyword says something of values of one type and nothing of others: each is a `ValueShape`, and a schema is what its
keywords have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any
from urllib.parse import unquote

from quizglass_server.web.chat.schemas.apart import apart
from quizglass_server.web.chat.schemas.limits import Effort, NotFollowed, SchemaRefused
from quizglass_server.web.chat.schemas.numbers import Numbers
from quizglass_server.web.chat.schemas.patterns import pattern
from quizglass_server.web.chat.schemas.shapes import (
    ANYTHING,
    NOTHING,
    TYPES,
    Arrays,
    Need,
    Objects,
    ValueShape,
    narrowed,
)
from quizglass_server.web.chat.schemas.strings import FORMATS, Strings

MOST_COUNTED = 1000
_MOST_WAY = 64
"""Schemas that lead to one another by references and combinations, without a value between them."""
_MOST_IGNORED = 64
_SHOWN = 60
UNIMPORTANT = {
    *("$schema", "$comment", "$defs", "definitions", "$anchor", "title", "description", "default", "example"),
    *("examples", "deprecated", "readOnly", "writeOnly", "discriminator"),
}
"""Keywords that say nothing of which values are valid."""
REFUSED = {
    *("not", "if", "then", "else", "contains", "minContains", "maxContains", "patternProperties"),
    *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems", "unevaluatedProperties"),
    *("$dynamicRef", "$recursiveRef"),
}
"""Keywords that JSON Schema has and a grammar cannot follow."""
_OBJECT = ("properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties")
_ARRAY = ("prefixItems", "items", "additionalItems", "minItems", "maxItems")


class Keywords:
    """The schemas of one document, numbered as they are come upon.

    Args:
        document: the whole schema, to which references lead.
        effort: counts what it costs.
    """

    def __init__(self, document: Mapping[str, Any], effort: Effort) -> None:
        self._document = document
        self._effort = effort
        self._schemas: list[tuple[Any, str]] = []
        self._numbers: dict[int, int] = {}
        self._shapes: dict[int, ValueShape] = {}
        self._needs: dict[Need, ValueShape] = {}
        self._way: list[int] = []
        self.ignored: dict[str, None] = {}
        """Places of keywords that have no effect."""
        self.whole: Need = (self._number(document, ""),)
        """What the whole value needs."""

    def shape(self, need: Need) -> ValueShape:
        """The values that are valid under all of some schemas.

        Raises:
            SchemaRefused: one of them cannot be followed.
        """
        if need not in self._needs:
            self._effort.state()
            shape = ANYTHING
            for number in need:
                shape = self._both(shape, self._shape(number), self.place(need))
            self._needs[need] = narrowed(shape)
        return self._needs[need]

    def place(self, need: Need) -> str:
        """Where a need comes from, the first place where there are several."""
        return self._schemas[need[0]][1] if need else ""

    def _number(self, schema: Any, place: str) -> int:
        """The number of a schema at a place, which is the same each time."""
        if id(schema) not in self._numbers:  # it lives as long as this list
            self._numbers[id(schema)] = len(self._schemas)
            self._schemas.append((schema, place))
        return self._numbers[id(schema)]

    def _need(self, schema: Any, place: str) -> Need | None:
        """What a value needs to be valid under a schema; None: no value is."""
        if schema is True or schema == {}:
            return ()
        return None if schema is False else (self._number(schema, place),)

    def _shape(self, number: int) -> ValueShape:
        if number not in self._shapes:
            schema, place = self._schemas[number]
            if number in self._way:
                raise SchemaRefused(place, "refers to itself")
            if len(self._way) == _MOST_WAY:
                raise SchemaRefused(place, f"more than {_MOST_WAY} references and combinations lead here")
            self._way.append(number)
            try:
                self._shapes[number] = self._read(schema, place)
            finally:
                self._way.pop()
        return self._shapes[number]

    def _read(self, schema: Any, place: str) -> ValueShape:
        if isinstance(schema, bool):
            return ANYTHING if schema else NOTHING
        if not isinstance(schema, dict):
            raise SchemaRefused(place, "is no schema; give an object")
        shape = ANYTHING
        for keyword, value in schema.items():
            here = at(place, keyword)
            if keyword in UNIMPORTANT or (keyword == "$id" and not place):
                continue
            if keyword in REFUSED or keyword == "$id":
                raise NotFollowed(here, "cannot be followed; leave it out")
            if (read := _SINGLE.get(keyword)) is not None:
                shape = self._both(shape, read(self, value, here), here)
            elif keyword not in (*_OBJECT, *_ARRAY, "oneOf"):
                self._ignore(here)
        if any(keyword in schema for keyword in _OBJECT):
            shape = self._both(shape, self._object(schema, place), place)
        if any(keyword in schema for keyword in _ARRAY):
            shape = self._both(shape, self._array(schema, place), place)
        return self._one_of(schema["oneOf"], at(place, "oneOf"), shape) if "oneOf" in schema else shape

    def _both(self, one: ValueShape, other: ValueShape, place: str) -> ValueShape:
        self._effort.steps(4 + 4 * sum(len(each.properties) for shape in (one, other) for each in shape.objects))
        try:
            return one & other
        except SchemaRefused as refusal:
            raise SchemaRefused(place, refusal.message) from None

    def _ignore(self, place: str) -> None:
        if len(self.ignored) < _MOST_IGNORED:
            self.ignored[place] = None

    # Keywords that need no other one beside them.

    def _type(self, value: Any, place: str) -> ValueShape:
        names = value if isinstance(value, list) else [value]
        shape = NOTHING
        for name in names:
            if not isinstance(name, str) or name not in TYPES:
                raise SchemaRefused(place, f"there is no type {shown(name)}; there are {', '.join(TYPES)}")
            shape |= TYPES[name]
        return shape

    def _const(self, value: Any, place: str) -> ValueShape:
        return self._enum([value], place)

    def _enum(self, value: Any, place: str) -> ValueShape:
        if not isinstance(value, list) or not value:
            raise SchemaRefused(place, "needs a list of values")
        self._effort.steps(len(value))
        strings = [each for each in value if isinstance(each, str)]
        numbers = [each for each in value if isinstance(each, int | float) and not isinstance(each, bool)]
        shape = ValueShape(
            (Strings(values=frozenset(strings)),) if strings else (),
            (Numbers(values=frozenset(_decimal(each, place) for each in numbers)),) if numbers else (),
            frozenset({None: "null", True: "true", False: "false"}[each] for each in value if _is_literal(each)),
        )
        for position, each in enumerate(value):
            here = at(place, position)
            if isinstance(each, list):
                first = tuple((self._number({"const": item}, at(here, at_)),) for at_, item in enumerate(each))
                shape |= ValueShape(arrays=(Arrays(first, None, len(each), len(each)),))
            elif isinstance(each, dict):
                needs = {key: (self._number({"const": item}, at(here, key)),) for key, item in each.items()}
                shape |= ValueShape(objects=(Objects(tuple(needs.items()), frozenset(needs), None),))
        return shape

    def _ref(self, value: Any, place: str) -> ValueShape:
        if not isinstance(value, str) or not (value == "#" or value.startswith("#/")):
            raise SchemaRefused(place, f"{shown(value)} is not in this schema; only #/... is followed")
        schema: Any = self._document
        target = ""
        for part in value.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(schema, list) and key.isascii() and key.isdecimal() and int(key) < len(schema):
                schema, target = schema[int(key)], at(target, int(key))
            elif isinstance(schema, dict) and key in schema:
                schema, target = schema[key], at(target, key)
            else:
                raise SchemaRefused(place, f"there is nothing at {shown(value)}")
        return self._shape(self._number(schema, target))

    def _all_of(self, value: Any, place: str) -> ValueShape:
        shape = ANYTHING
        for position, each in enumerate(_several(value, place)):
            shape = self._both(shape, self._shape(self._number(each, at(place, position))), place)
        return shape

    def _any_of(self, value: Any, place: str) -> ValueShape:
        shape = NOTHING
        refusals: list[NotFollowed] = []
        for position, each in enumerate(_several(value, place)):
            number = self._number(each, at(place, position))
            try:
                shape = self._either(shape, self._shape(number), place)
            except NotFollowed as refusal:
                # What is valid under the others is valid all the same.
                refusals.append(refusal)
        if len(refusals) == len(value):
            raise refusals[0]
        for refused in refusals:
            self._ignore(refused.place)
        return shape

    def _one_of(self, value: Any, place: str, among: ValueShape) -> ValueShape:
        """Values that are valid under exactly one of some schemas, among those that the other keywords allow."""
        shapes: list[ValueShape] = []
        for position, each in enumerate(_several(value, place)):
            here = at(place, position)
            shapes.append(self._both(among, self._shape(self._number(each, here)), here))
        self._effort.steps(len(shapes) ** 2)
        for (one, first), (two, second) in combinations(zip(shapes, range(len(shapes)), strict=True), 2):
            if not apart(one, two, self.shape):
                told = f"{first} and {second} may both be valid, which a grammar cannot exclude; give anyOf instead"
                raise NotFollowed(place, told)
        shape = NOTHING
        for each in shapes:
            shape = self._either(shape, each, place)
        return shape

    def _either(self, one: ValueShape, other: ValueShape, place: str) -> ValueShape:
        try:
            return one | other
        except SchemaRefused as refusal:
            raise SchemaRefused(place, refusal.message) from None

    def _pattern(self, value: Any, place: str) -> ValueShape:
        if not isinstance(value, str):
            raise SchemaRefused(place, "needs a text")
        return _of(Strings(matching=(pattern(value, place),)))

    def _format(self, value: Any, place: str) -> ValueShape:
        if isinstance(value, str) and value in FORMATS:
            return _of(Strings(matching=(FORMATS[value],)))
        self._ignore(place)
        return ANYTHING

    def _multiple_of(self, value: Any, place: str) -> ValueShape:
        divisor = _decimal(value, place)
        if divisor <= 0 or divisor != divisor.to_integral_value():
            raise NotFollowed(place, "is followed for positive whole numbers only; leave it out")
        return _of(Numbers(divisors=frozenset({int(divisor)})))

    def _unique(self, value: Any, place: str) -> ValueShape:
        if value is not False:
            raise NotFollowed(place, "cannot be followed; leave it out, and sort out what is there twice")
        return ANYTHING

    # Keywords that belong together.

    def _object(self, schema: Mapping[str, Any], place: str) -> ValueShape:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        if not isinstance(properties, dict):
            raise SchemaRefused(at(place, "properties"), "needs an object of schemas")
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise SchemaRefused(at(place, "required"), "needs a list of names")
        rest = self._need(schema.get("additionalProperties", True), at(place, "additionalProperties"))
        needs = {name: self._need(each, at(place, "properties", name)) for name, each in properties.items()}
        needs |= {name: rest for name in required if name not in needs}
        names = self._need(schema.get("propertyNames", True), at(place, "propertyNames"))
        if names is None:
            rest, needs = None, dict.fromkeys(needs)
        least, most = (_count(schema.get(key, 0), at(place, key)) for key in ("minProperties", "maxProperties"))
        found = Objects(
            tuple(needs.items()),
            frozenset(required),
            rest,
            names or (),
            least,
            most if "maxProperties" in schema else None,
            "additionalProperties" in schema or not properties,
        )
        return _of(found)

    def _array(self, schema: Mapping[str, Any], place: str) -> ValueShape:
        key, behind = "prefixItems", "items"
        if isinstance(schema.get("items"), list):  # as before 2020
            key, behind = "items", "additionalItems"
        first = schema.get(key, [])
        if not isinstance(first, list):
            raise SchemaRefused(at(place, key), "needs a list of schemas")
        rest = self._need(schema.get(behind, True), at(place, behind))
        needs: list[Need] = []
        for position, each in enumerate(first):
            need = self._need(each, at(place, key, position))
            if need is None:
                rest = None
                break
            needs.append(need)
        least, most = (_count(schema.get(each, 0), at(place, each)) for each in ("minItems", "maxItems"))
        bound = most if "maxItems" in schema else None
        found = Arrays(tuple(needs), rest, least, bound, behind in schema or not first)
        return _of(found)


def at(place: str, *parts: str | int) -> str:
    """The place of a part: "properties.price.enum[3]"."""
    for part in parts:
        name = f"[{part}]" if isinstance(part, int) else part[:_SHOWN]
        place = f"{place}.{name}" if place and isinstance(part, str) else f"{place}{name}"
    return place


def shown(value: Any) -> str:
    """A value as errors show it, cut where it is long."""
    written = repr(value)
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."


def _of(part: Strings | Numbers | Arrays | Objects) -> ValueShape:
    """Values of a part, and all of the types that it says nothing of."""
    match part:
        case Strings():
            return replace(ANYTHING, strings=(part,))
        case Numbers():
            return replace(ANYTHING, numbers=(part,))
        case Arrays():
            return replace(ANYTHING, arrays=(part,))
        case Objects():
            return replace(ANYTHING, objects=(part,))


def _several(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise SchemaRefused(place, "needs a list of schemas")
    return value


def _count(value: Any, place: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SchemaRefused(place, "needs a count")
    if value > MOST_COUNTED:
        raise SchemaRefused(place, f"is {shown(value)}; {MOST_COUNTED} at most")
    return value


def _decimal(value: Any, place: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SchemaRefused(place, "needs a number")
    return Decimal(value) if isinstance(value, int) else Decimal(repr(value))


def _is_literal(value: Any) -> bool:
    return value is None or isinstance(value, bool)


Reader = Callable[[Keywords, Any, str], ValueShape]
_SINGLE: Mapping[str, Reader] = {
    "type": Keywords._type,
    "const": Keywords._const,
    "enum": Keywords._enum,
    "$ref": Keywords._ref,
    "allOf": Keywords._all_of,
    "anyOf": Keywords._any_of,
    "minLength": lambda _, value, place: _of(Strings(least=_count(value, place))),
    "maxLength": lambda _, value, place: _of(Strings(most=_count(value, place))),
    "pattern": Keywords._pattern,
    "format": Keywords._format,
    "minimum": lambda _, value, place: _of(Numbers(least=_decimal(value, place))),
    "exclusiveMinimum": lambda _, value, place: _of(Numbers(least=_decimal(value, place), above=True)),
    "maximum": lambda _, value, place: _of(Numbers(most=_decimal(value, place))),
    "exclusiveMaximum": lambda _, value, place: _of(Numbers(most=_decimal(value, place), below=True)),
    "multipleOf": Keywords._multiple_of,
    "uniqueItems": Keywords._unique,
}
"""How each keyword is read that needs no other one beside it."""
