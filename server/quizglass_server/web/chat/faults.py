"""Faults of a chat's body in plain words: what is wrong at a place, and what belongs there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from quizglass_server.errors import InvalidInput

_SHOWN = 40
"""Characters of a part's type that errors repeat."""
_FAULTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: "is missing",
    "list_type": lambda _: "has to be a list",
    "model_type": lambda _: "has to be an object",
    "dict_type": lambda _: "has to be an object",
    "string_type": lambda _: "has to be a text",
    "int_type": lambda _: "has to be a whole number",
    "int_parsing": lambda _: "has to be a whole number",
    "int_from_float": lambda _: "has to be a whole number",
    "bool_type": lambda _: "has to be true or false",
    "bool_parsing": lambda _: "has to be true or false",
    "greater_than_equal": lambda told: f"has to be at least {told['ge']}",
    "too_short": lambda _: "must not be empty",
    "too_long": lambda told: f"has more than {told['max_length']} items",
    "literal_error": lambda told: f"has to be {told['expected']}",
    "json_invalid": lambda told: f"is no JSON: {told['error']}",
}
"""By pydantic's types of errors; others keep its words."""
_SHAPES = {
    "text": '{"type": "text", "text": "..."}',
    "image_url": '{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,..."}}',
    "input_audio": '{"type": "input_audio", "input_audio": {"data": "...", "format": "wav"}}',
}
_SAME = {"input_text": "text", "output_text": "text", "input_image": "image_url", "image": "image_url"}
"""Types of other APIs, and what they are called here."""


def body_fault(error: ValidationError) -> InvalidInput:
    """The first fault that a check of a whole body found."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"]).lstrip(".")
    words = _FAULTS.get(first["type"])
    return InvalidInput(place or "body", first["msg"] if words is None else words(first.get("ctx", {})))


def part_fault(part: Mapping[str, Any], place: str, *, answers: bool) -> InvalidInput:
    """Why a part of a message is not taken.

    Args:
        part: what came.
        place: where in the body.
        answers: whether it is of an earlier answer, which has texts alone.
    """
    kind = str(part.get("type"))
    shape = _SHAPES.get(_SAME.get(kind, kind))
    shown = repr(kind[:_SHOWN])
    if answers:
        return InvalidInput(place, f"a part of type {shown} is not taken in an answer, or is not whole; send its text")
    if shape is None:
        return InvalidInput(place, f"a part of type {shown} is not taken here; there are {', '.join(_SHAPES)}")
    if kind in _SHAPES:
        return InvalidInput(place, f"a part of type {shown} is not whole; send {shape}")
    return InvalidInput(place, f"a part of type {shown} is not taken here; send {shape}")


def outside_content(place: str) -> InvalidInput:
    """Pictures came beside the content, as Ollama's own API has them: without an effect they would be lost."""
    return InvalidInput(place, f"pictures are parts of the content here; send {_SHAPES['image_url']}")
