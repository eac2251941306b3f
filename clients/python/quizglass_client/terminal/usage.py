"""What a command line cannot ask for, and the statuses that commands end with."""

from __future__ import annotations

OK, FAILED, USAGE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130


class UsageError(Exception):
    """The command line asks for something that cannot be done; the message says what can."""
