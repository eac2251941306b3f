"""One server a knowledge directory: a lock that the operating system releases when its holder dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked

_NAME = "lock"


class DirectoryLock:
    """Exclusive `flock` on a file in the directory, held until `release` or the end of the process.

    The lock belongs to the open file, so a second open in the same process is refused too. The process id in the
    file is for people: it decides nothing.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock.

        Raises:
            KnowledgeLocked: somebody else holds it.
            KnowledgeFailed: the directory cannot be written.
        """
        path = directory / _NAME
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise KnowledgeFailed(
                f"knowledge directory {directory}: cannot open {_NAME} ({error.strerror}); make the directory writable"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._descriptor)
            raise KnowledgeLocked(
                f"knowledge directory {directory} is in use by another server (process {holder}); "
                "stop that server or give this one another directory",
                directory=str(directory),
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Let the next server in. Once only."""
        os.close(self._descriptor)
