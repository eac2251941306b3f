"""Lines that a command adds to the audit log, also while a server writes to the same file."""

from __future__ import annotations

import logging
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from quizglass_server.config.logs import JsonFormatter, opened_audit_log
from quizglass_server.errors import QuizglassError

logger = logging.getLogger(__name__)


class Note(Protocol):
    """Writes one line on a change that was made."""

    def __call__(self, message: str, **about: object) -> None:
        """Write it; a file that cannot be written is a warning, since the change was made."""
        ...


@contextmanager
def audited(file: Path | None, command: str) -> Iterator[Note]:
    """Open the audit log for a command. What it raises is a line too, unless the change was made by then.

    Args:
        file: the audit log; None: there is none, and lines go nowhere.
        command: its name, as it is typed.

    Raises:
        SettingsError: the file cannot be opened. Nothing has been changed then.
    """
    if file is None:
        yield _nowhere
        return
    descriptor, changed = opened_audit_log(file), False

    def note(message: str, **about: object) -> None:
        nonlocal changed
        changed = True
        extra = {"peer": "command line", "user": user_name(), "command": command, **about}
        record = logger.makeRecord(logger.name, logging.INFO, "", 0, message, (), None, extra=extra)
        line = f"{JsonFormatter().format(record)}\n".encode()
        try:
            # At once: lines of a server that appends to the same file come before or after, never between.
            whole = os.write(descriptor, line) == len(line)
        except OSError as error:
            logger.warning("%s: %s; %s is not in the audit log", file, error.strerror, message)
        else:
            if not whole:
                logger.warning("%s: the disk is full; %s is in the audit log in part", file, message)

    try:
        yield note
    except BaseException as error:
        if not changed:
            note("change failed", code=error.code if isinstance(error, QuizglassError) else "UNEXPECTED")
        raise
    finally:
        os.close(descriptor)


def _nowhere(message: str, **about: object) -> None:
    pass


def user_name() -> str:
    """Who runs this process: the user's name, or the id of one without a name."""
    user = os.geteuid()
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
