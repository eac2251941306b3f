"""The database on disk: tables of `knowledge.sqlite3`, how connections are opened, and what their failures mean.

Tables: `entries`; `chunks` and `pictures`, one row a vector; `picture_files`, the encoded pictures by content, once
each however many entries show them; `graphs`, the index snapshots that belong to this database; `state`, the sequence
number and the checksums of all the rest (`checksums.py`). Pictures are blobs in the same file, so that an entry and its
pictures are committed, replaced, deleted and backed up together, and no crash leaves one without the other. The price
is that a picture is written twice, to the write-ahead log and to the file.

The label of a vector is never used again and its vector never changes (`StoreState.last`; new vectors get new rows).
An index snapshot is therefore brought up to date by comparing labels alone.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from quizglass_server.errors import DiskFull, KnowledgeFailed
from quizglass_server.knowledge.database.checksums import StoreState
from quizglass_server.knowledge.database.disk import FULL, failed, is_full, sync

FILE = "knowledge.sqlite3"
SCHEMA_VERSION = 2
PRIVATE = 0o600
"""Permissions of new files, which hold what is knowledge to some and private to others."""
_APPLICATION_ID = 0x515A474C  # "QZGL": tells a knowledge store from any other SQLite file

ENTRY_COLUMNS = "number, id, title, caption, kind, text, attributes, source, language, format, time, expires, shown"
CHUNK_COLUMNS = "label, entry, position, text, space, vector, total"
PICTURE_COLUMNS = "label, entry, position, sha256, space, vector, look"

# A store keeps this text and `has_our_tables` compares it, comments included: a change of it is another version.
_TABLES = """
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL, digest INTEGER NOT NULL);

CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    caption TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    attributes TEXT NOT NULL,      -- JSON object of strings, in the order given
    source TEXT NOT NULL,
    language TEXT NOT NULL,
    format TEXT NOT NULL,          -- of the text: '' (plain), markdown or html
    time INTEGER NOT NULL,         -- seconds since 1970 of what it tells; 0: not known
    expires INTEGER NOT NULL,      -- seconds since 1970; 0: never
    shown BLOB NOT NULL,           -- SHA-256 of its pictures, one after the other
    digest INTEGER NOT NULL        -- of the columns before
);

CREATE TABLE chunks (
    label INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL REFERENCES entries (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    space TEXT NOT NULL,           -- what made the vector: vectors of different spaces do not compare
    vector BLOB NOT NULL,          -- float32, little-endian, L2-normalised
    total INTEGER NOT NULL,        -- chunks of the entry: tells whether one is missing
    digest INTEGER NOT NULL
);
CREATE INDEX chunks_of_entry ON chunks (entry);
CREATE INDEX chunks_in_space ON chunks (space, entry);

CREATE TABLE picture_files (sha256 BLOB PRIMARY KEY, encoded BLOB NOT NULL);
CREATE TABLE pictures (
    label INTEGER PRIMARY KEY,
    entry INTEGER NOT NULL REFERENCES entries (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    sha256 BLOB NOT NULL REFERENCES picture_files (sha256),
    space TEXT NOT NULL,
    vector BLOB NOT NULL,
    look INTEGER NOT NULL,         -- 64 bits that near-duplicates share (`looks.py`); 0: not known
    digest INTEGER NOT NULL
);
CREATE INDEX pictures_of_entry ON pictures (entry);
CREATE INDEX pictures_in_space ON pictures (space, entry);
CREATE INDEX pictures_of_file ON pictures (sha256);

CREATE TABLE graphs (
    kind TEXT PRIMARY KEY,         -- pictures, chunks or catalog
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    space TEXT NOT NULL,
    sequence INTEGER NOT NULL
) WITHOUT ROWID;
"""

_MEANING = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: "it is read-only; make it writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the directory and its permissions",
    sqlite3.SQLITE_CORRUPT: "it is damaged; stop the server and run `quizglass knowledge repair` on its directory, "
    "or restore a snapshot",
    sqlite3.SQLITE_NOTADB: "it is not a knowledge store, or it is damaged; restore a snapshot, or move it away "
    "and import again",
    sqlite3.SQLITE_IOERR: "the disk failed; check it and restart the server",
}
_MAY_BE_FULL = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's and the system's errors into KnowledgeFailed with the file and what to do next.

    Clients see them: where the file lies is not their business.
    """
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the primary code. Without one it is Python that could not read a text: it is not UTF-8.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        what = _MEANING.get(code, f"SQLite reports {type(error).__name__}; see the server's log")
        if code in _MAY_BE_FULL and is_full(path.parent):
            what = FULL
        failure = DiskFull if what == FULL else KnowledgeFailed
        raise failure(f"{path.name}: {what}", file=path.name) from error
    except OSError as error:
        raise failed(path.name, error, file=path.name) from error


@contextmanager
def naming(directory: Path) -> Iterator[None]:
    """Have failures of opening a store name its directory too: who opens one is no client, and may have several."""
    try:
        yield
    except KnowledgeFailed as error:
        named = f"directory {directory}"
        if error.message.startswith(named):
            raise
        failure = DiskFull if isinstance(error, DiskFull) else KnowledgeFailed
        raise failure(f"{named}: {error.message}", **error.metadata) from error


def connect(path: Path, *, write: bool, untouched: bool = False) -> sqlite3.Connection:
    """Open the database, for one thread at a time; a writer creates the tables in a new file.

    Writers wait for the disk at every commit (synchronous=FULL also syncs the write-ahead log): what is acknowledged
    survives the loss of power. Readers see the last commit and never change the file: the log of a crash is read, not
    moved into it. They leave an empty log beside it, though, unless it is to stay `untouched`: for a brief look while
    no process writes.

    Raises:
        KnowledgeFailed: the file cannot be opened or is of another kind or version.
    """
    with explained(path):
        if write and is_new(path):
            _create(path)
        address = f"file:{quote(str(path))}?mode={'rw' if write else 'ro'}"
        if untouched and not has_log(path):
            address += "&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)
        try:
            _prepare(connection, path.name, write)
        except BaseException:
            connection.close()
            raise
        return connection


def is_new(path: Path) -> bool:
    """Whether there is no database yet: no file, or an empty one without a log that could fill it."""
    return not path.exists() or (path.stat().st_size == 0 and not has_log(path))


def has_log(path: Path) -> bool:
    """Whether there is anything in the write-ahead log beside a database."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def is_writable(path: Path) -> bool:
    """Whether this process may change an existing database. SQLite opens one that it may not, and fails each write."""
    beside = (path, *(path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm")))
    return all(os.access(file, os.W_OK, effective_ids=True) for file in beside if file.exists())


def schema_version(connection: sqlite3.Connection, file: str) -> int:
    """Version of the tables; 0 of a new file. Raises KnowledgeFailed when it is no knowledge store, sqlite3.Error."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if (
        version == 0
        and application == 0
        and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    ):
        return 0
    if application != _APPLICATION_ID:
        raise KnowledgeFailed(f"{file}: this is not a knowledge store; give another directory", file=file)
    if version != SCHEMA_VERSION:
        raise KnowledgeFailed(
            f"{file}: schema version {version}, this server reads {SCHEMA_VERSION}; use the server that wrote it",
            file=file,
        )
    return version


def has_our_tables(connection: sqlite3.Connection) -> bool:
    """Whether the tables and indexes are declared as this version declares them."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(_TABLES)
        return _declared(connection) == _declared(fresh)


def _declared(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()


def _prepare(connection: sqlite3.Connection, file: str, write: bool) -> None:
    connection.execute("PRAGMA mmap_size = 0")  # a damaged or cut file then gives an error, not a signal
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    schema_version(connection, file)
    if not write:
        connection.execute("PRAGMA query_only = ON")
        return
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # deleted content is overwritten, not just forgotten


def _create(path: Path) -> None:
    """All or nothing: a crash leaves no file under this name, and never a journal that a reader could not undo.

    Only the server's user may read it; SQLite gives the log the same permissions.
    """
    fresh = path.with_name(f"{path.name}.new")
    _clear(fresh)
    try:
        _fill(fresh)
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            _clear(fresh)
        raise
    sync(path.parent)


def _clear(fresh: Path) -> None:
    for leftover in fresh.parent.glob(f"{fresh.name}*"):
        leftover.unlink()


def _fill(fresh: Path) -> None:
    os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # compaction gives pages back without a second copy
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";\n"):
            connection.execute(statement)
        StoreState(secrets.token_hex(16)).save(connection)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
