"""Folders of running processes, for this user alone: their socket, and what they save when they end.

A server that is killed leaves its folder behind. Each is locked while its server lives, so that the next one knows
those that are left and removes them.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from quizglass_server.engines.generator.process.spawn import undisturbed

_PREFIX = "quizglass-llama-"
_MEMORY = Path("/dev/shm")  # noqa: S108 - what is made there is this user's alone
"""Where Linux keeps files in memory."""


def new_folder(*, in_memory: bool = False) -> tuple[Path, int]:
    """A folder, and the descriptor that locks it until it is closed.

    Args:
        in_memory: whether its files are to be on no disk, where the system has such a place.

    Raises:
        OSError: it cannot be made.
    """
    place = _MEMORY if in_memory and os.access(_MEMORY, os.W_OK | os.X_OK) else None
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # taken for one that was left, in the moment before it was locked
            continue
        except OSError:
            folder.rmdir()
            raise
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # the same, a moment later
            os.close(lock)
        except OSError:
            os.close(lock)
            folder.rmdir()
            raise
        else:
            return folder, lock


async def remove_folder(folder: Path, lock: int) -> None:
    """Remove a folder with what is in it and give its lock up, even if cancelled meanwhile."""
    try:
        await undisturbed(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
    finally:
        os.close(lock)


def sweep() -> None:
    """Remove folders of this user's whose server is gone."""
    for folder in (*Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"), *_MEMORY.glob(f"{_PREFIX}*")):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
