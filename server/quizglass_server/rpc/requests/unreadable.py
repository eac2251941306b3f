"""Error message for bytes that are no request."""

from __future__ import annotations

from quizglass_server.errors import InvalidInput

_LONGEST_REASON = 200


class Unreadable(InvalidInput):
    """The bytes of a request are no message of its kind.

    Args:
        reason: what a parser says of them, if that helps; it may repeat a part of them.
    """

    def __init__(self, reason: str = "") -> None:
        printable = "".join(character if character.isprintable() else " " for character in reason[:_LONGEST_REASON])
        told = f": {printable}" if reason else ", or hold a text that is not UTF-8"
        super().__init__("request", f"these bytes are no message of its kind{told}")
