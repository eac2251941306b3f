"""Writing a directory whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def fresh_directory(out: Path) -> Iterator[Path]:
    """A hidden sibling of `out` that takes its place on success and is removed on failure.

    What was at `out` before stays there until the new directory is complete.
    """
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        folder = scratch / "new"
        folder.mkdir()
        yield folder
        if out.exists():
            out.rename(scratch / "old")
        folder.rename(out)
    finally:
        if not out.exists() and (scratch / "old").exists():
            (scratch / "old").rename(out)
        shutil.rmtree(scratch, ignore_errors=True)


def place(source: Path, target: Path) -> None:
    """Link where both are on one file system, so that large files exist once; else copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
