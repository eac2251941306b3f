"""What is told of bytes that are no request."""

from __future__ import annotations

from quizglass_server.errors import InvalidInput


class Unreadable(InvalidInput):
    """The bytes of a request are no message of its kind."""

    def __init__(self) -> None:
        super().__init__("request", "these bytes are no message of its kind, or hold a text that is not UTF-8")
