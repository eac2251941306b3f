"""Reads files whose names came from elsewhere, regular ones of a bounded size and nothing else; writes private ones."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, BinaryIO

TOKEN_VARIABLE = "QUIZGLASS_TOKEN_FILE"  # noqa: S105  # the name of a variable
"""Names the file of the token where no other is given."""
LARGEST_PICTURE = 128 << 20
"""Bytes of a picture's file, before it is resized."""

_PIECE = 1 << 20  # bytes

_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: Path, largest: int) -> bytes:
    """All of a regular file. Pipes, devices, sockets and folders, which may have no end, are not opened.

    Raises:
        OSError: it cannot be read, is no regular file, or has more than `largest` bytes.
        ValueError: no file can have such a name.
    """
    _check(path, path.stat(), largest)
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        _check(path, os.fstat(file.fileno()), largest)  # it may be another one by now
        content = file.read(largest + 1)
    if len(content) > largest:
        raise _too_large(path, largest)
    return content


def read_pipe(descriptor: int, name: str, largest: int) -> bytes:
    """All that comes from a pipe, or another descriptor without a size, until its end.

    Raises:
        OSError: it cannot be read, or more than `largest` bytes came. It names `name`.
    """
    pieces, size = list[bytes](), 0
    while piece := os.read(descriptor, _PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > largest:
            raise _too_large(Path(name), largest)
    return b"".join(pieces)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that its user alone can read; whole or not at all.

    Raises:
        OSError: it cannot be written. It names `path`.
    """
    with _beside(path, delete=False) as file:
        fresh = Path(file.name)
        try:
            file.write(content)
            file.close()
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


def check_writable(path: Path) -> None:
    """See that `write_private` can write a file, and make its folder where there is none.

    Raises:
        OSError: it cannot. It names `path`.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _beside(path):
        pass


@contextmanager
def _beside(path: Path, *, delete: bool = True) -> Iterator[IO[bytes]]:
    """A new file beside one. Its name is its own: where one can be foreseen, others who may write in the folder may
    have put a file or a link."""
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=".quizglass.", delete=delete) as file:
            yield file
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def lines(file: BinaryIO, longest: int) -> Iterator[bytes | None]:
    """The lines of a file; None for one of more than `longest` bytes, which is passed over."""
    while line := file.readline(longest + 1):
        if len(line) <= longest or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(longest)
        yield None


def _check(path: Path, about: os.stat_result, largest: int) -> None:
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    if about.st_size > largest:
        raise _too_large(path, largest)


def _too_large(path: Path, largest: int) -> OSError:
    return OSError(errno.EFBIG, f"has more than {largest} bytes", str(path))
