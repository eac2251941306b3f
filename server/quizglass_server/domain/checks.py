"""Checks of request fields; every error names the field by its path in the request."""

from __future__ import annotations

import unicodedata

from quizglass_server.errors import InvalidInput

_SHA256_BYTES = 32


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


def sha256(value: bytes, field: str) -> bytes:
    """A SHA-256.

    Raises:
        InvalidInput: it has another length.
    """
    if len(value) != _SHA256_BYTES:
        raise InvalidInput(field, f"{len(value)} bytes is not a SHA-256, which has {_SHA256_BYTES}")
    return value
