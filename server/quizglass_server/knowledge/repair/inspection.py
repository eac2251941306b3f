"""Looks whether a knowledge directory is as it was written: briefly at every start, wholly on request.

Reads only, through a connection that cannot change the file: what is damaged stays as it is for `salvage.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from quizglass_bundle.hashes import file_sha256
from quizglass_server.errors import KnowledgeFailed, NotFound
from quizglass_server.knowledge.content.records import VectorKind
from quizglass_server.knowledge.database.checksums import StoreState, damaged, picture_digest, row_digest, signed
from quizglass_server.knowledge.database.clean_shutdown import ShutdownRecord, read_flag
from quizglass_server.knowledge.database.reader import ROWS, DatabaseReader
from quizglass_server.knowledge.database.schema import (
    FILE,
    connect,
    explained,
    has_our_tables,
    is_new,
    schema_version,
)
from quizglass_server.knowledge.index.snapshots import FOLDER


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that is not as it was written."""

    file: str
    message: str
    in_database: bool = True
    """Whether it is in the database; what is derived is rebuilt by itself."""


def check_before_opening(directory: Path, *, untouched: bool = False) -> StoreState | None:
    """What every start looks at: the tables, the ids, the labels, and that no acknowledged commit is missing.

    Rows are checked when they are read.

    Args:
        directory: the store's.
        untouched: whether not even an empty log is to be left there, as of `connect`.

    Returns:
        What the database says about itself; None of a new one.

    Raises:
        KnowledgeFailed: the database is damaged or not a knowledge store; nothing was changed.
    """
    mark = read_flag(directory)
    path = directory / FILE
    if is_new(path):
        _check_absence(mark, path.with_name(f"{FILE}-wal"))
        return None
    with closing(connect(path, write=False, untouched=untouched)) as connection, explained(path):
        if schema_version(connection, FILE) == 0:
            _check_absence(mark)
            return None
        if not has_our_tables(connection):
            raise damaged(FILE, "what it says about its tables")
    with closing(DatabaseReader(path, untouched=untouched)) as reader:
        state = reader.check_ids()
        for kind in VectorKind:
            reader.labels(kind)
    _compare(state, mark)
    return state


def last_state(directory: Path) -> StoreState:
    """What the database says about itself, and of a new one that it is empty. Raises KnowledgeFailed."""
    if is_new(directory / FILE):
        return StoreState("")
    with closing(DatabaseReader(directory / FILE)) as reader:
        return reader.state()


def inspect(directory: Path, step: Callable[[str, int], None] = lambda _table, _rows: None) -> list[Defect]:
    """Everything that is not as it was written, in the database and in what is derived from it; may take minutes.

    May run beside a server: it sees one commit. `step` hears of the table and how many of its rows are done.
    """
    try:
        check_before_opening(directory)
        if is_new(directory / FILE):
            return [Defect(FILE, "does not exist, or is empty; nothing was stored here")]
        with closing(DatabaseReader(directory / FILE)) as reader:
            defects = [Defect(FILE, message) for message in _inside(reader, step)]
            defects += _snapshots(directory, reader)
    except KnowledgeFailed as error:
        return [Defect(FILE, error.message)]
    if read_flag(directory) is None:
        defects.append(
            Defect("marker", "is missing or damaged; it is written again at the next start", in_database=False)
        )
    return defects


def _check_absence(mark: ShutdownRecord | None, log: Path | None = None) -> None:
    """Refuse to begin anew where there was a store. SQLite would replay a log into whatever file comes to its side."""
    left = ["marker"] if mark is not None and mark.sequence else []
    left += [log.name] if log is not None and log.exists() and log.stat().st_size else []
    if left:
        held = f"held {mark.sequence} commits" if mark is not None else "its write-ahead log is there"
        raise KnowledgeFailed(
            f"{FILE} is missing or empty, but {held}; restore a snapshot, or delete {' and '.join(left)} beside it to "
            "begin anew",
            file=FILE,
        )


def _compare(state: StoreState, mark: ShutdownRecord | None) -> None:
    if mark is None:
        return
    if mark.store != state.store:
        raise KnowledgeFailed(
            f"{FILE} or its write-ahead log belongs to another store; put the right files back, or run "
            "`quizglass knowledge repair` on the directory to accept what is there",
            file=FILE,
        )
    missing = mark.sequence - state.sequence
    if missing > 0:
        cause = (
            "an older file was put in its place"
            if mark.closed
            else "its write-ahead log was damaged, removed or replaced"
        )
        raise KnowledgeFailed(
            f"{FILE}: the last {missing} acknowledged commits are missing, {cause}; restore a snapshot, or run "
            "`quizglass knowledge repair` on the directory to accept the loss",
            file=FILE,
        )


def _inside(reader: DatabaseReader, step: Callable[[str, int], None]) -> Iterator[str]:
    """Damage inside the file, from one read transaction."""
    with reader.one_commit() as connection:
        state = StoreState.load(connection, FILE)
        for (line,) in connection.execute("PRAGMA integrity_check(20)").fetchall():
            if line != "ok":
                yield f"SQLite finds: {line}"
        for table, rows in _TABLES.items():
            total = 0
            for count, (digest, message) in enumerate(rows(reader, connection, table), 1):
                total = signed(total + digest)
                step(table, count)
                if message:
                    yield message
            if total != state.sums.get(table, 0):
                yield f"rows of table {table} are missing, doubled or altered"


def _entry_sum(reader: DatabaseReader, connection: sqlite3.Connection, _table: str) -> Iterator[tuple[int, str]]:
    for entry_id, digest in connection.execute("SELECT id, digest FROM entries ORDER BY number"):
        try:
            reader.named(entry_id)
            yield digest, ""
        except (KnowledgeFailed, NotFound) as error:
            yield digest, error.message


def _row_sum(reader: DatabaseReader, connection: sqlite3.Connection, table: str) -> Iterator[tuple[int, str]]:
    for row in connection.execute(f"{ROWS[VectorKind(table)]} ORDER BY label"):
        fine = row_digest(row[:-1], reader.key) == row[-1]
        yield row[-1], "" if fine else f"row {row[0]} of table {table} is damaged"


def _file_sum(_reader: DatabaseReader, connection: sqlite3.Connection, _table: str) -> Iterator[tuple[int, str]]:
    for key, encoded in connection.execute("SELECT sha256, encoded FROM picture_files"):
        fine = sha256(encoded).digest() == key
        yield picture_digest(key), "" if fine else f"picture {key.hex()[:16]} is damaged"


_TABLES = {"entries": _entry_sum, "chunks": _row_sum, "pictures": _row_sum, "picture_files": _file_sum}


def _snapshots(directory: Path, reader: DatabaseReader) -> list[Defect]:
    defects = []
    for record in reader.graphs():
        path = directory / FOLDER / record.file
        try:
            fine = file_sha256(path) == record.sha256
        except OSError:
            fine = False
        if not fine:
            defects.append(
                Defect(f"{FOLDER}/{record.file}", "is missing or damaged; it is built again", in_database=False)
            )
    return defects
