"""What stops an export."""

from __future__ import annotations

from pydantic import ValidationError


class ExportError(ValueError):
    """A checkpoint cannot be exported; the message names the file and the key, and says what to do."""


def reason(error: ValueError) -> str:
    """What is wrong with a value, in one line: of a pydantic error its first message, without its address."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{key}: {message}" if key else message
