"""What comes before a knowledge directory may be used: it exists, nobody else has it, and it is as it was written."""

from __future__ import annotations

from pathlib import Path

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.database.disk import meaning
from quizglass_server.knowledge.database.lock import DirectoryLock
from quizglass_server.knowledge.repair.inspection import check_before_opening
from quizglass_server.knowledge.repair.salvage import migrate


def locked(directory: Path) -> DirectoryLock:
    """Take a directory, made if need be, its tables brought up to date and checked.

    Raises:
        KnowledgeLocked: another server has it.
        KnowledgeFailed: it cannot be made, read or written, or its database is damaged.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KnowledgeFailed(f"knowledge directory {directory}: cannot be created: {meaning(error)}") from error
    lock = DirectoryLock(directory)
    try:
        migrate(directory)
        check_before_opening(directory)
    except BaseException:
        lock.release()
        raise
    return lock
