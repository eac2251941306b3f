"""Writing a directory whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quizglass_bundle.fields import MANIFEST
from quizglass_export.errors import ExportError

_NEW, _OLD = "new", "old"
_TEXTS = (".jinja", ".json", ".txt")


def check_free(out: Path, replace: bool, mark: str = MANIFEST) -> None:
    """Raise ExportError where something is at `out` that may not be replaced.

    Args:
        out: directory to write.
        replace: whether an earlier one may be replaced.
        mark: what an earlier one holds; a directory with other things in it is never replaced.
    """
    if not out.exists():
        return
    if not replace:
        raise ExportError(f"{out}: already exists; choose another directory, or pass --replace")
    if not out.is_dir() or (any(out.iterdir()) and not (out / mark).exists()):
        raise ExportError(f"{out}: holds no {mark}, so --replace would remove something else; choose another directory")


@contextmanager
def fresh_directory(out: Path) -> Iterator[Path]:
    """A hidden sibling of `out` that takes its place on success and is removed on failure.

    What was at `out` before stays there until the new directory is complete.
    """
    out = out.absolute()
    with hidden_beside(out) as scratch:
        try:
            folder = scratch / _NEW
            folder.mkdir()
            yield folder
            if out.exists():
                out.rename(scratch / _OLD)
            folder.rename(out)
        finally:
            _put_back(scratch, out)


@contextmanager
def hidden_beside(out: Path) -> Iterator[Path]:
    """A hidden directory beside `out` that is removed in any case.

    Those of processes that were killed are removed first; one that held what was at `out` gives it back.
    """
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    for stale in [path for path in out.parent.iterdir() if _is_beside(path, out)]:
        with suppress(OSError), _locked(stale):
            _put_back(stale, out)
            shutil.rmtree(stale, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    with _locked(scratch):
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _is_beside(path: Path, out: Path) -> bool:
    """Whether a path is named like a hidden directory of `out`, and not like one of `out.2`."""
    return re.fullmatch(rf"\.{re.escape(out.name)}\.[^.]+\.tmp", path.name) is not None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a directory as long as this process lives; OSError where another one does."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(held)


def _put_back(scratch: Path, out: Path) -> None:
    if not out.exists() and (scratch / _OLD).exists():
        (scratch / _OLD).rename(out)


def place(source: Path, target: Path) -> None:
    """Link a model where both are on one file system, so that large files exist once; else copy.

    Texts are copied: who edits a prompt of one bundle means that one alone.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix not in _TEXTS:
        with suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)
