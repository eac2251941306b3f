"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file, in the place of an older one if there is one, which then keeps its owner: who writes may be root.

    Raises:
        OSError: it cannot be written; nothing has changed.
    """
    descriptor, written = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError, PermissionError):
                before = path.stat()
                os.fchown(descriptor, before.st_uid, before.st_gid)
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(written).replace(path)
    except BaseException:
        Path(written).unlink(missing_ok=True)
        raise
