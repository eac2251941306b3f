"""Files around a repair: a damaged database as SQLite can read it, and the new one in its place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from quizglass_server.knowledge.database.clean_shutdown import FILE as MARKER
from quizglass_server.knowledge.database.disk import sync
from quizglass_server.knowledge.database.schema import FILE

_BESIDE = (f"{FILE}-wal", f"{FILE}-shm")
SALVAGE, INCOMING = "salvage", "incoming"
"""Folders in which a repair and a restoration prepare the new files; they stay only where one was killed."""
BEFORE_REPAIR, BEFORE_RESTORE = "before-repair", "before-restore"
"""What the folders with the files before are called, with a number behind."""
_LARGEST = 1 << 40  # bytes; a header that says more is damaged itself


def whole_length(path: Path, folder: Path) -> Path:
    """The file, or if its end is missing a copy with zeros there: SQLite reads nothing of a file that is too short."""
    with path.open("rb") as file:
        header = file.read(32)
    if len(header) < 32:
        return path
    page = int.from_bytes(header[16:18], "big")
    size = (65_536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    if path.stat().st_size >= size or size > _LARGEST:
        return path
    copy = folder / f"cut-{FILE}"
    shutil.copyfile(path, copy)
    os.truncate(copy, size)
    log = path.with_name(f"{FILE}-wal")
    if log.exists():
        shutil.copyfile(log, copy.with_name(f"{copy.name}-wal"))
    return copy


def swap(directory: Path, fresh: Path) -> Path:
    """Put the new file in the place of the old one, which is kept in a folder of its own."""
    kept = numbered_folder(directory, BEFORE_REPAIR)
    beside = [name for name in _BESIDE if (directory / name).exists()]
    try:
        os.link(directory / FILE, kept / FILE)
        for name in beside:  # the log must be gone before another file stands beside it
            (directory / name).replace(kept / name)
        (fresh / FILE).replace(directory / FILE)
    except BaseException:
        _put_back(directory, kept, beside)
        raise
    if (fresh / MARKER).exists():
        (fresh / MARKER).replace(directory / MARKER)
    clear(fresh)
    sync(directory)
    return kept


def undo_interrupted(directory: Path) -> None:
    """Put back the log of a file that was about to be replaced when the process was killed: it has the last commits."""
    for kept in interrupted(directory):
        _put_back(directory, kept, _BESIDE)


def interrupted(directory: Path) -> list[Path]:
    """Folders of repairs that were killed before the new file took the old one's place."""
    begun = (kept for kept in directory.glob(f"{BEFORE_REPAIR}-*") if (kept / FILE).exists())
    return [kept for kept in begun if (kept / FILE).samefile(directory / FILE)]


def other_copies(directory: Path) -> list[str]:
    """Names of the folders in a store's directory that hold files of repairs and restorations, in order."""
    patterns = (SALVAGE, INCOMING, f"{BEFORE_REPAIR}-*", f"{BEFORE_RESTORE}-*")
    folders = {path for pattern in patterns for path in directory.glob(pattern) if path.is_dir()}
    return sorted(folder.name for folder in folders if any(folder.iterdir()))


def numbered_folder(directory: Path, name: str) -> Path:
    """Make the folder `NAME-1`, or of the first number that is free."""
    number = next(number for number in count(1) if not (directory / f"{name}-{number}").exists())
    folder = directory / f"{name}-{number}"
    folder.mkdir(mode=0o700)
    return folder


def _put_back(directory: Path, kept: Path, beside: Iterable[str]) -> None:
    """Undo what was done before the new file took its place."""
    for name in beside:
        if (kept / name).exists():
            (kept / name).replace(directory / name)
    (kept / FILE).unlink(missing_ok=True)
    kept.rmdir()


def clear(folder: Path) -> None:
    """Remove what an interrupted run has left."""
    if folder.exists():
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
