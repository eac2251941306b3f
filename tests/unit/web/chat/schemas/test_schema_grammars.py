"""JSON schemas as grammars: what is written under one is valid under the other, and what cannot be is refused."""

import datetime
import enum
import json
import uuid
from random import Random
from typing import Annotated, Any, Literal

import jsonschema
import pydantic
import pytest

from bench.hostile.drawn_schemas import drawn_schema
from quizglass_server.web.chat.schemas.conversion import schema_grammar
from quizglass_server.web.chat.schemas.limits import SchemaRefused
from tests.support.engines.gbnf import Gbnf

DRAWN, TEXTS = 300, 10


def grammar(schema: Any) -> Gbnf:
    return Gbnf(schema_grammar(json.dumps(schema)).text)


def texts(schema: Any, count: int = 30) -> list[str]:
    """What a grammar allows, drawn."""
    written = grammar(schema)
    return [written.drawn(Random(seed)) for seed in range(count)]


def refusal(schema: Any) -> SchemaRefused:
    with pytest.raises(SchemaRefused) as caught:
        schema_grammar(schema if isinstance(schema, str) else json.dumps(schema))
    return caught.value


@pytest.mark.parametrize("start", range(0, DRAWN, 50))
def test_what_is_written_under_a_drawn_schema_is_valid(start: int) -> None:
    followed = 0
    for seed in range(start, start + 50):
        schema = drawn_schema(seed)
        try:
            written = grammar(schema)
        except SchemaRefused:
            continue
        followed += 1
        validator = jsonschema.Draft202012Validator(schema)
        for number in range(TEXTS):
            text = written.drawn(Random(number))
            assert list(validator.iter_errors(json.loads(text))) == [], (seed, text)
    assert followed > 25


@pytest.mark.parametrize(
    ("schema", "allowed", "others"),
    [
        ({"enum": ["🙂", "\u00e9", "e\u0301"]}, ['"🙂"', '"\u00e9"', '"e\u0301"'], ['"\\ud83d\\ude42"', '"e"']),
        ({"const": {"🙂": ['"\\', 1.5, None]}}, ['{"🙂":["\\"\\\\",1.5,null]}'], ["{}"]),
        ({"type": "integer", "minimum": -3, "exclusiveMaximum": 12}, ["-3", "0", "11"], ["-4", "12", "1.0"]),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 2.5}, ["0.1", "2.5", "2", "1.999"], ["0", "2.51", "-1"]),
        ({"type": "integer", "multipleOf": 12}, ["-24", "0", "144"], ["6", "145"]),
        ({"type": "string", "pattern": "b+", "maxLength": 3}, ['"b"', '"abb"'], ['"a"', '"aabb"']),
        ({"type": "string", "minLength": 1, "maxLength": 2}, ['"🙂"', '"ab"', '"\\n"'], ['""', '"abc"']),
        ({"enum": ["a", 1, None], "type": ["string", "null"]}, ['"a"', "null"], ["1"]),
        ({"properties": {"": {"type": "null"}}, "required": [""]}, ['{"":null}', '{"": null}'], ["{}"]),
        (
            {"allOf": [{"properties": {"a": {"minimum": 3}}}], "properties": {"a": {"type": "integer"}}},
            ['{"a":3}', "{}"],
            ['{"a":2}', '{"a":"b"}'],
        ),
        (
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"const": 1}}},
            ['{"a": [], "b": 1}', '{"b":1}'],
            ['{"a":1}', '{"b":1,"c":1}'],
        ),
        (
            {"type": "object", "additionalProperties": {"type": "null"}, "maxProperties": 1},
            ["{}", '{"any": null}'],
            ['{"a":null,"b":null}', '{"a":1}'],
        ),
        (
            {"prefixItems": [{"const": 1}, {"const": 2}], "minItems": 2, "items": {"const": 3}},
            ["[1,2]", "[1, 2, 3, 3]"],
            ["[1]", "[1,2,4]"],
        ),
        ({"type": "string", "format": "date"}, ['"2024-12-31"', '"1999-02-28"'], ['"2023-02-30"', '"2023-13-01"']),
    ],
)
def test_keywords_are_followed(schema: Any, allowed: list[str], others: list[str]) -> None:
    written = grammar(schema)
    assert [text for text in allowed if not written.allows(text)] == []
    assert [text for text in others if written.allows(text)] == []


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"properties": {"a": {"not": {"type": "null"}}}}, "properties.a.not"),
        ({"properties": {"a": {"anyOf": [{"if": {}}]}}}, "properties.a.anyOf[0].if"),
        ({"$defs": {"x": {"contains": {}}}, "items": {"$ref": "#/$defs/x"}}, "$defs.x.contains"),
        ({"type": "nothing"}, "type"),
        ({"type": {}}, "type"),
        ({"$ref": "https://example.org/a.json"}, "$ref"),
        ({"$ref": "#/a"}, "$ref"),
        ({"$ref": "#"}, ""),
        ({"items": {"multipleOf": 0.1}}, "items.multipleOf"),
        ({"minimum": "3"}, "minimum"),
        ({"exclusiveMaximum": True}, "exclusiveMaximum"),
        ({"maxLength": 1_000_000}, "maxLength"),
        ({"minLength": -1}, "minLength"),
        ({"minItems": 1.5}, "minItems"),
        ({"enum": "a"}, "enum"),
        ({"required": "a"}, "required"),
        ({"properties": []}, "properties"),
        ({"properties": {"a": 3}}, "properties.a"),
        ({"anyOf": []}, "anyOf"),
        ({"pattern": "(a)\\1"}, "pattern"),
        ({"pattern": "^(?=a)"}, "pattern"),
        ({"pattern": "("}, "pattern"),
        ({"oneOf": [{"type": "string"}, {"maxLength": 3}]}, "oneOf"),
        ({"type": "string", "enum": [1]}, ""),
        ({"type": "string", "minLength": 3, "maxLength": 2}, ""),
        ({"type": "object", "required": ["a"], "properties": {"a": False}}, ""),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, ""),
        ("[]", ""),
        ("{", ""),
    ],
)
def test_what_is_not_followed_is_refused_at_its_place(schema: Any, place: str) -> None:
    assert refusal(schema).place == place


def test_what_has_no_effect_is_named_and_what_means_nothing_is_not() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.org/a",
        "title": "A",
        "properties": {"a": {"type": "string", "format": "email", "default": "b", "description": "c"}},
        "x-order": 1,
        "anyOf": [{"required": ["a"]}, {"not": {}}],
    }
    assert sorted(schema_grammar(json.dumps(schema)).ignored) == ["anyOf[1].not", "properties.a.format", "x-order"]


def test_alternatives_that_exclude_one_another_are_taken_for_one_of() -> None:
    kinds = [{"properties": {"kind": {"const": kind}, "n": {}}, "required": ["kind"]} for kind in ("a", "b")]
    others = [{"type": "null"}, {"enum": [1, 2]}, {"enum": [3, "a"]}]
    for schema in (
        {"type": "object", "oneOf": kinds},
        {"oneOf": [*others, *({**kind, "type": "object"} for kind in kinds)]},
    ):
        validator = jsonschema.Draft202012Validator(schema)
        for text in texts(schema):
            assert list(validator.iter_errors(json.loads(text))) == []
    assert refusal({"oneOf": kinds}).place == "oneOf", "numbers are valid under both"


class Colour(enum.Enum):
    RED = "red"
    SMILE = "🙂"


class Cat(pydantic.BaseModel):
    """A cat."""

    kind: Literal["cat"]
    lives: int = pydantic.Field(ge=1, le=9)


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    weight: float = pydantic.Field(gt=0, lt=100.5)


class Part(pydantic.BaseModel):
    name: Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Z]\w*$", max_length=9)]
    parts: list["Part"] = []


class Everything(pydantic.BaseModel):
    anything: Any
    perhaps: int | None = None
    one_of_few: Literal["🙂", 1, None]
    either: Cat | Dog
    distinguished: Cat | Dog = pydantic.Field(discriminator="kind")
    colour: Colour
    at: datetime.datetime
    day: datetime.date
    hour: datetime.time
    id: uuid.UUID
    counts: dict[str, int]
    of_few: dict[Literal["a", "b"], bool]
    pair: tuple[int, str]
    tree: Part
    step: int = pydantic.Field(multiple_of=5, ge=-10)


def test_models_of_pydantic_are_answered_with_what_they_take() -> None:
    for text in texts(Everything.model_json_schema(), 60):
        Everything.model_validate_json(text)


def test_a_schema_of_properties_alone_means_objects() -> None:
    assert all(text.startswith("{") for text in texts({"properties": {"a": {"minimum": 3}}}))
    assert {type(json.loads(text)) for text in texts({}, 200)} == {str, int, float, bool, type(None), list, dict}


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^((a?){0,30}){0,30}$"},
        {"pattern": "^.*a.{14}$"},
        {"pattern": "^(((a{1,30}){1,30}){1,30}){1,30}$"},
        {"pattern": "^" + "(a|ab)?" * 140 + "$"},
        {"pattern": "(" * 999},
        {"pattern": "a" * 1001},
        {"type": "integer", "multipleOf": 997},
        {"allOf": [{"properties": {f"k{number}": {"type": "null"}}} for number in range(600)]},
        {"allOf": [{"anyOf": [{"properties": {f"p{a}{b}": {}}} for a in range(8)]} for b in range(60)]},
        {"properties": {f"k{number}": {} for number in range(300)}},
        {"enum": [chr(0x4E00 + number) for number in range(300)]},
        {"const": "a" * 33_000},
        '{"items":' * 65 + "{}" + "}" * 65,
        '{"minimum":' + "1" * 5000 + "}",
        {
            "type": "array",
            "items": {"anyOf": [{"$ref": "#"}, {"items": {"$ref": "#"}, "maxItems": 3, "type": "array"}]},
        },
    ],
)
def test_what_would_cost_too_much_is_refused(schema: Any) -> None:
    assert refusal(schema).message


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"pattern": "^(a|a)*(a|aa)*(a*)*$"}, '"' + "a" * 40),
        ({"pattern": "(x+x+)+y"}, '"' + "x" * 40),
        ({"anyOf": [{"pattern": "^a*$"}, {"pattern": "^(aa)*$"}, {"maxLength": 50, "type": "string"}]}, '"' + "a" * 40),
        (
            {"anyOf": [{"type": "array", "maxItems": most, "items": {"type": "array"}} for most in (5, 6, 7)]},
            "[[],[],[[[[",
        ),
    ],
)
def test_an_answer_can_be_followed_in_few_ways_however_ambiguous_its_schema(schema: Any, text: str) -> None:
    assert 0 < grammar(schema).ways(text) <= 40
