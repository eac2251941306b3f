"""Snapshots of a whole knowledge directory, taken while its server writes on, and putting one back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.database.checksums import StoreState
from quizglass_server.knowledge.database.clean_shutdown import FILE as MARKER
from quizglass_server.knowledge.database.clean_shutdown import CleanShutdownFlag, ShutdownRecord
from quizglass_server.knowledge.database.disk import make_directory, sync
from quizglass_server.knowledge.database.lock import DirectoryLock
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.schema import FILE, connect, explained
from quizglass_server.knowledge.index.snapshots import FOLDER
from quizglass_server.knowledge.repair.inspection import inspect
from quizglass_server.knowledge.repair.swapping import BEFORE_RESTORE, INCOMING, numbered_folder

_ENTRIES = (FILE, f"{FILE}-wal", f"{FILE}-shm", MARKER, FOLDER)


def snapshot(directory: Path, target: Path) -> StoreState:
    """Copy the database as of one commit into a new directory, with the index snapshots that belong to it.

    Returns:
        What the copy says about itself: its sequence number and count.

    Raises:
        KnowledgeFailed: the store cannot be read or is damaged, or the target exists or cannot be written.
    """
    _check_there(directory)
    if target.exists() and (target.samefile(".") or any(target.iterdir())):
        raise KnowledgeFailed(f"{target} is not empty, or where you are; give a directory that does not exist yet")
    fresh = target.with_name(f"{target.name}.partial")
    with explained(target), _passing(fresh):
        make_directory(fresh)
        state = _copy_truth(directory / FILE, fresh / FILE)
        _copy_derived(directory, fresh)
        with closing(CleanShutdownFlag(fresh)) as flag:
            flag.write(ShutdownRecord(state.store, state.sequence, closed=True))
        _raise_if_damaged(fresh, directory)
        _settle(fresh)
        if target.exists():
            target.rmdir()
        fresh.replace(target)
        sync(target.parent)
    return state


def restore(source: Path, directory: Path) -> Path | None:
    """Put a snapshot in the place of a store, which is kept in a folder `before-restore-1` within.

    Returns:
        Where the store before went; None if there was none.

    Raises:
        KnowledgeLocked: a server runs on the directory.
        KnowledgeFailed: the snapshot is damaged; nothing was changed. Or the files cannot be written.
    """
    _check_there(source)
    with explained(directory):
        make_directory(directory)
        with closing(DirectoryLock(directory)):
            with _passing(directory / INCOMING) as incoming:
                _copy_store(source, incoming)
                # Not the source: what was read of that a moment ago need not be what was copied.
                _raise_if_damaged(incoming, source)
                (incoming / f"{FILE}-shm").unlink(missing_ok=True)  # of looking at it
                _settle(incoming)
                kept = _set_aside(directory)
                # The database comes last: until then the directory holds no store, rather than a mixture of two.
                for name in reversed(_ENTRIES):
                    if (incoming / name).exists():
                        (incoming / name).replace(directory / name)
                    elif name == MARKER:
                        (directory / name).unlink(missing_ok=True)
            sync(directory)
    return kept


@contextmanager
def _passing(folder: Path) -> Iterator[Path]:
    """A folder to be made in the block, of which nothing stays under this name, nor of one that was interrupted."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settle(folder: Path) -> None:
    """Wait until the files are on the disk, which no other user may read: not all directories of a store are
    private.
    """
    for path in [*folder.rglob("*"), folder]:
        path.chmod(path.stat().st_mode & 0o700)
        sync(path)


def _copy_truth(source: Path, target: Path) -> StoreState:
    """One step of SQLite's backup: it reads from a single commit, however long it takes."""
    with closing(connect(source, write=False)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
        new.execute("PRAGMA journal_mode = WAL").fetchall()
        return StoreState.load(new, FILE)


def _copy_derived(directory: Path, fresh: Path) -> None:
    """Those index snapshots that belong to the copy; what is missing is built again."""
    (fresh / FOLDER).mkdir()
    with closing(DatabaseReader(fresh / FILE)) as reader:
        for record in reader.graphs():
            try:
                shutil.copyfile(directory / FOLDER / record.file, fresh / FOLDER / record.file)
            except OSError:
                continue


def _copy_store(source: Path, incoming: Path) -> None:
    """The files of a store, whatever else lies beside them; they can be written, though the source be on a disk that
    cannot.
    """
    folders = [path for path in (source / FOLDER,) if path.is_dir()]
    for folder in (incoming, *(incoming / path.name for path in folders)):
        folder.mkdir(mode=0o700)
    files = [path for path in (source / FILE, source / f"{FILE}-wal", source / MARKER) if path.exists()]
    for path in [*files, *(path for folder in folders for path in folder.iterdir())]:
        shutil.copyfile(path, incoming / path.relative_to(source))


def _check_there(directory: Path) -> None:
    if not (directory / FILE).exists():
        raise KnowledgeFailed(f"{directory} has no {FILE}; give the directory of a knowledge store")


def _raise_if_damaged(copy: Path, source: Path) -> None:
    for defect in inspect(copy):
        if defect.in_database:
            raise KnowledgeFailed(f"{source} is not whole, nothing was changed: {defect.message}")


def _set_aside(directory: Path) -> Path | None:
    """Keep the files of a store elsewhere. Its marker stays as well: an interrupted repair is not taken for a new
    store.
    """
    present = [name for name in _ENTRIES if (directory / name).exists()]
    if not present:
        return None
    kept = numbered_folder(directory, BEFORE_RESTORE)
    for name in present:
        if name == MARKER:
            shutil.copyfile(directory / name, kept / name)
        else:
            (directory / name).replace(kept / name)
    return kept
