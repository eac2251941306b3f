"""Pictures that are given to a command: a file's name, a pipe's, or standard input."""

from __future__ import annotations

import os
import select
import stat
import sys
from contextlib import suppress
from pathlib import Path

from quizglass_client.errors import InvalidRequest
from quizglass_client.files import LARGEST_PICTURE, read_pipe
from quizglass_client.pictures import checked
from quizglass_client.terminal.output import say
from quizglass_client.terminal.usage import UsageError

_PATIENCE_S = 2.0
"""Wait for the first byte of a pipe on standard input. Many programs start others with a pipe that stays empty."""


def exists(name: str) -> bool:
    """Whether there is anything of that name; a question is longer than a name may be."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def picture_given(name: str, wanted: str = "a picture") -> Path | bytes:
    """A picture that was named on the command line: its file, or all that a pipe brings (`<(…)`, /dev/stdin).

    Raises:
        UsageError: there is neither; it says what is wanted.
        InvalidRequest: what the pipe brings is no picture: nothing else leaves this machine.
        OSError: it brings more than a picture may have.
    """
    path = Path(name)
    if exists(name) and path.is_fifo():
        with path.open("rb", buffering=0) as pipe:
            return _picture(read_pipe(pipe.fileno(), name, LARGEST_PICTURE), name)
    if not exists(name) or not path.is_file():
        raise UsageError(f"{name} is no file; give {wanted}")
    return path


def picture_on_stdin() -> bytes | None:
    """The picture on standard input. None: nothing is there, as on a terminal, of /dev/null and of an empty pipe.

    Raises:
        InvalidRequest: something else than a picture is there.
        OSError: it has more bytes than a picture may have.
    """
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or replaced by a program
        return None
    if stat.S_ISCHR(os.fstat(descriptor).st_mode) or not _begins(descriptor):
        return None
    raw = read_pipe(descriptor, "standard input", LARGEST_PICTURE)
    try:
        return _picture(raw, "standard input") if raw else None
    except InvalidRequest:
        with suppress(OSError):  # a pipe's bytes are gone; a file of lines is left to the loop that reads them
            os.lseek(descriptor, -len(raw), os.SEEK_CUR)
        raise


def _begins(descriptor: int) -> bool:
    """Whether something comes, or the end of it. A writer that says nothing for long is not waited for."""
    try:
        ready, _, _ = select.select([descriptor], [], [], _PATIENCE_S)
    except (OSError, ValueError):  # of a system that cannot wait for a pipe
        return True
    if not ready:
        say(
            f"nothing came on standard input within {_PATIENCE_S:g} s: asked without a picture; /dev/stdin waits for it"
        )
    return bool(ready)


def _picture(raw: bytes, name: str) -> bytes:
    if not raw:
        raise UsageError(f"{name} is empty; give a picture")
    return checked(raw, name)
