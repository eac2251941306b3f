"""One server a knowledge directory: a lock that the operating system releases when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked
from quizglass_server.knowledge.database.disk import failed, make_directory, no_room

_NAME = "lock"
_PRIVATE = 0o600
_HELD_BY_ANOTHER = (errno.EWOULDBLOCK, errno.EACCES)


class DirectoryLock:
    """Exclusive `flock` on the directory itself and on a file in it, held until `close` or the end of the process.

    The directory's is what counts: it cannot be removed from under a server. Network file systems that lock no
    directories have the file's alone. The lock belongs to the open file, so a second open in the same process is
    refused too. The process id in the file is for people: it decides nothing.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock.

        Raises:
            KnowledgeLocked: another process holds it.
            KnowledgeFailed: the directory cannot be written.
        """
        self._descriptors: list[int] = []
        try:
            self._take(directory, os.O_RDONLY | os.O_DIRECTORY, directory, needed=False)
            file = self._take(directory / _NAME, os.O_RDWR | os.O_CREAT, directory, needed=True)
        except BaseException:
            self.close()
            raise
        with suppress(OSError):  # a full disk, say: the next process reports an unknown holder
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode("ascii"), 0)

    def close(self) -> None:
        """Let the next server in."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _take(self, path: Path, flags: int, directory: Path, *, needed: bool) -> int:
        """Open and lock. That the file system cannot lock this path is an error only where the lock is `needed`."""
        try:
            descriptor = os.open(path, flags | os.O_CLOEXEC, _PRIVATE)
        except OSError as error:
            if path != directory and _is_of_others(path):
                raise _of_others(directory) from error
            advice = f"cannot open {path.name} ({error.strerror}); make the directory writable"
            if no_room(error):
                raise failed(f"directory {directory}", error) from error
            if not directory.is_dir():
                advice = "it is no directory, or does not exist"
            raise KnowledgeFailed(f"directory {directory}: {advice}") from error
        self._descriptors.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _HELD_BY_ANOTHER and not needed:
                return descriptor
            raise _locked(directory) from error
        return descriptor


def lock_directory(directory: Path) -> DirectoryLock:
    """The lock of a directory, which is made if need be. Raises KnowledgeLocked, KnowledgeFailed."""
    try:
        make_directory(directory)
    except (FileExistsError, NotADirectoryError) as error:
        raise KnowledgeFailed(f"directory {directory}: there is a file in its place; name another directory") from error
    except OSError as error:
        raise failed(f"directory {directory}: cannot be created", error) from error
    return DirectoryLock(directory)


def check_free(directory: Path) -> None:
    """Look whether the lock could be taken, and make no file. What cannot be looked at counts as free.

    The look itself is a shared lock of an instant, so that two who look do not see each other.

    Raises:
        KnowledgeLocked: another process holds it.
        KnowledgeFailed: it is another user's.
    """
    if _is_of_others(directory / _NAME):
        raise _of_others(directory)
    for path in (directory, directory / _NAME):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in _HELD_BY_ANOTHER:
                    raise _locked(directory) from error
            finally:
                os.close(descriptor)


def _is_of_others(lock: Path) -> bool:
    """Whether another user made a lock, or all of the store, where this one may write."""
    there = os.access(lock.parent, os.W_OK | os.X_OK) and lock.exists()
    return there and not os.access(lock, os.R_OK | os.W_OK)


def _of_others(directory: Path) -> KnowledgeFailed:
    advice = f"this user may not write {_NAME}; chown the files there, which another user made"
    return KnowledgeFailed(f"directory {directory}: {advice}")


def _locked(directory: Path) -> KnowledgeLocked:
    return KnowledgeLocked(
        f"directory {directory} is in use by another server (process {_holder(directory)}); "
        "stop that server or give this one another directory",
        directory=str(directory),
    )


def _holder(directory: Path) -> str:
    """Process id of who holds the lock, as far as the file tells."""
    try:
        with (directory / _NAME).open("rb") as file:
            return file.read(32).decode("ascii", "replace").strip() or "unknown"
    except OSError:
        return "unknown"
