"""Folders of running processes, for this user alone: their socket, and what they save when they end.

A server that is killed leaves its folder behind. Each is locked while its server lives, so that the next one knows
those that are left and removes them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "quizglass-llama-"


def new_folder() -> tuple[Path, int]:
    """A folder, and the descriptor that locks it until it is closed. Raises OSError."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # taken for one that was left, in the moment before it was locked
            os.close(lock)
        else:
            return folder, lock


def sweep() -> None:
    """Remove folders of this user's whose server is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
