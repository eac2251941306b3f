"""What a command line cannot ask for, and the statuses that commands end with."""

from __future__ import annotations

from pathlib import Path

OK, FAILED, USAGE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130


class UsageError(Exception):
    """The command line asks for something that cannot be done; the message says what can."""


def picture_file(name: str, wanted: str = "a picture") -> Path:
    """A picture that was named on the command line; UsageError, which says what is wanted, where it is no file."""
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name} is no file; give {wanted}")
    return path
