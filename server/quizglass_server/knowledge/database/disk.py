"""What the errors of a disk mean, in words that say what to do next; and waiting for it."""

from __future__ import annotations

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path

from quizglass_server.errors import DiskFull, KnowledgeFailed

FULL = "the disk is full; free some space and try again"
_LEAST_BYTES = 64 << 10  # less is nothing: a commit takes several pages of 4 KiB and SQLite's shared memory 32 KiB


def failed(what: str, error: OSError, **about: str) -> KnowledgeFailed:
    """An error of the operating system as one of the store, behind what it is about and with what to do."""
    if no_room(error):
        return DiskFull(f"{what}: {FULL}", **about)
    return KnowledgeFailed(f"{what}: {error.strerror}; check the directory and the disk", **about)


def no_room(error: BaseException) -> bool:
    """Whether something failed because a disk, or what its user may have of it, is full."""
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT))


def log_failure(logger: logging.Logger, message: str, error: Exception) -> None:
    """Log work in the background that failed: with its stack, but for a full disk, where the reason is all there is."""
    if no_room(error):
        logger.warning("%s", message, extra={"reason": FULL})
    else:
        logger.error("%s", message, exc_info=error)


def is_full(directory: Path) -> bool:
    """Whether nothing can be written there for want of room. SQLite reports some full disks as failed ones."""
    try:
        disk = os.statvfs(directory)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_BYTES or (disk.f_files > 0 and disk.f_favail == 0)


def bytes_in(directory: Path) -> int:
    """Bytes of all files in a directory and below."""
    total = 0
    for path in directory.rglob("*"):
        with suppress(OSError):  # a file of a moment
            total += path.stat().st_size if path.is_file() else 0
    return total


def make_directory(directory: Path) -> None:
    """Make a directory for this user alone, and those above it; on return they are on the disk, and not only their
    files will be. Raises OSError.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in missing:
        with suppress(PermissionError):  # of a folder that may be written and not read
            sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file or a directory is on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
