"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file, in the place of an older one if there is one.

    Who writes may be root, and who reads a server: an older file's owner and group stay, and that its group may read.

    Raises:
        OSError: it cannot be written; nothing has changed.
    """
    descriptor, written = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError, PermissionError):
                before = path.stat()
                os.fchown(descriptor, before.st_uid, before.st_gid)
                mode |= before.st_mode & stat.S_IRGRP
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(written).replace(path)
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise
