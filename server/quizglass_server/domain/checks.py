"""Checks of request fields; every error names the field by its path in the request."""

from __future__ import annotations

import unicodedata

from quizglass_server.errors import InvalidInput


def text(value: str, field: str, *, longest: int, required: bool = True) -> str:
    """A text field, trimmed and without control characters (a tab or a line break becomes a space).

    Raises:
        InvalidInput: too long, or nothing readable though required.
    """
    if len(value) > longest:
        raise InvalidInput(field, f"{len(value)} characters is more than the {longest} allowed")
    clean = (value if value.isprintable() else "".join(map(_kept, value))).strip()
    if required and not any(character.isprintable() and not character.isspace() for character in clean):
        raise InvalidInput(field, "must not be empty" if not value.strip() else "has no readable character")
    return clean


def _kept(character: str) -> str:
    if unicodedata.category(character) != "Cc":
        return character
    return " " if character.isspace() else ""


def at_most(count: int, most: int, field: str) -> None:
    """The length of a repeated field.

    Raises:
        InvalidInput: too many.
    """
    if count > most:
        raise InvalidInput(field, f"{count} is more than the {most} allowed")


def within(value: int, low: int, high: int, field: str) -> int:
    """A number in a closed range.

    Raises:
        InvalidInput: out of range.
    """
    if not low <= value <= high:
        raise InvalidInput(field, f"{value} is not between {low} and {high}")
    return value
