"""JSON schemas drawn by seed: of every keyword, as programs write them and as none would."""

from __future__ import annotations

from random import Random
from typing import Any

_TEXTS = ["", "a", "red", "Žižka", "🙂", "e\u0301", 'say "hi"', "C:\\x", "two words", "\u2028", "7", "null", "x" * 40]
_NUMBERS = [0, 1, -1, 7, 100, 2.5, -0.1, 1e-7, 12345678, 1e20, 3.0]
_PATTERNS = [
    "^[a-z]+$",
    r"^\d{3}-\d{4}$",
    "b",
    "^(a|ab)(c|bcd)(d*)$",
    "(a*)*$",
    "^([a-zA-Z]+)*$",
    "(x+x+)+y",
    r"^[^\d\s]{2,8}$",
    r"^\S+@\S+\.[a-z]{2,}$",
    r"^(?=.*\d).{4,8}$",
    r"(a)\1",
    "^(?:red|green)?$",
    "^.{0,9}$",
    "[",
    "^🙂+$",
    r"^\u00e9\w*$",
]
_FORMATS = ["date", "time", "date-time", "uuid", "email", "uri", "binary"]
_TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"]
_REFUSED: dict[str, Any] = {
    "not": {"type": "null"},
    "if": {"type": "string"},
    "contains": {"const": 1},
    "uniqueItems": True,
    "patternProperties": {"^a": {"type": "integer"}},
    "dependentRequired": {"a": ["b"]},
    "unevaluatedProperties": False,
}


def drawn_schema(seed: int) -> dict[str, Any]:
    """The schema of a seed."""
    drawing = _Drawing(Random(seed))
    schema = drawing.schema(3)
    if drawing.named:
        schema["$defs"] = {name: drawing.schema(2) for name in ("one", "two")}
    return schema


class _Drawing:
    def __init__(self, random: Random) -> None:
        self._random = random
        self.named = False
        """Whether the schema refers to others."""

    def schema(self, depth: int) -> dict[str, Any]:
        random = self._random
        draw = random.choice([self._typed, self._typed, self._typed, self._listed, self._combined, self._mixed])
        schema = draw(depth)
        if random.random() < 0.2:
            schema |= {"title": "T", "description": "d", "default": None}
        if random.random() < 0.04:
            schema |= dict([random.choice(list(_REFUSED.items()))])
        if random.random() < 0.04:
            schema["x-order"] = 1
        return schema

    def _typed(self, depth: int) -> dict[str, Any]:
        kind = self._random.choice(_TYPES if depth else _TYPES[:5])
        schema: dict[str, Any] = {"type": kind}
        keywords = {
            "string": self._string,
            "number": self._number,
            "integer": self._number,
            "array": self._array,
            "object": self._object,
        }
        return schema | keywords[kind](depth) if kind in keywords else schema

    def _listed(self, _: int) -> dict[str, Any]:
        values: list[Any] = [*_TEXTS, *_NUMBERS, None, True, False, [1, "a"], {"a": {"b": []}}, {}]
        if self._random.random() < 0.3:
            return {"const": self._random.choice(values)}
        schema: dict[str, Any] = {"enum": self._random.sample(values, self._random.randint(1, 6))}
        if self._random.random() < 0.3:
            schema["type"] = self._random.sample(_TYPES, 2)
        return schema

    def _combined(self, depth: int) -> dict[str, Any]:
        if not depth:
            return {}
        if self._random.random() < 0.3:
            self.named = True
            return {"$ref": self._random.choice(["#/$defs/one", "#/$defs/two", "#"])}
        key = self._random.choice(["anyOf", "anyOf", "oneOf", "allOf"])
        schema: dict[str, Any] = {key: [self.schema(depth - 1) for _ in range(self._random.randint(1, 3))]}
        return schema | (self._mixed(depth - 1) if self._random.random() < 0.3 else {})

    def _mixed(self, depth: int) -> dict[str, Any]:
        """Keywords of several types, mostly without a type."""
        schema = self._string(depth) | self._number(depth)
        schema |= self._array(depth) | self._object(depth) if depth else {}
        kept = self._random.sample(sorted(schema), min(len(schema), self._random.randint(0, 5)))
        return {key: schema[key] for key in kept}

    def _some(self, keywords: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in keywords.items() if self._random.random() < 0.35}

    def _string(self, _: int) -> dict[str, Any]:
        random = self._random
        return self._some(
            {
                "minLength": random.randint(0, 4),
                "maxLength": random.randint(2, 12),
                "pattern": random.choice(_PATTERNS),
                "format": random.choice(_FORMATS),
            }
        )

    def _number(self, _: int) -> dict[str, Any]:
        random = self._random
        return self._some(
            {
                "minimum": random.choice(_NUMBERS),
                "maximum": random.choice(_NUMBERS),
                "exclusiveMinimum": random.choice(_NUMBERS),
                "exclusiveMaximum": random.choice(_NUMBERS),
                "multipleOf": random.choice([1, 2, 7, 10, 0.5, 0.01]),
            }
        )

    def _array(self, depth: int) -> dict[str, Any]:
        random = self._random
        return self._some(
            {
                "items": self.schema(depth - 1) if random.random() < 0.9 else random.random() < 0.5,
                "prefixItems": [self.schema(depth - 1) for _ in range(random.randint(1, 2))],
                "minItems": random.randint(0, 2),
                "maxItems": random.randint(0, 4),
            }
        )

    def _object(self, depth: int) -> dict[str, Any]:
        random = self._random
        names = random.sample(["", "a", "b", "price", "🙂", 'q"', "x.y", "Ž"], random.randint(0, 4))
        return self._some(
            {
                "properties": {name: self.schema(depth - 1) for name in names},
                "required": random.sample(names, random.randint(0, len(names))),
                "additionalProperties": random.choice([False, True, self.schema(depth - 1)]),
                "propertyNames": random.choice([{"maxLength": 5}, {"enum": ["a", "b", "c"]}, {"pattern": "^[a-z]+$"}]),
                "minProperties": random.randint(0, 2),
                "maxProperties": random.randint(0, 3),
            }
        )
