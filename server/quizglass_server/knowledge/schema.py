"""The truth on disk: tables of `knowledge.sqlite3`, how connections are opened, and what their failures mean.

Tables: `entries`; `chunks` and `pictures`, one row a vector; `picture_files`, the encoded pictures by content, once
each however many entries show them; `graphs`, the index snapshots that belong to this truth; `meta`, the sequence
number. Pictures are blobs in the same file, so that an entry and its pictures are committed, replaced, deleted and
backed up together, and no crash leaves one without the other. The price is that a picture is written twice, to the
write-ahead log and to the file.

The label of a vector is never used again and its vector never changes (AUTOINCREMENT; new vectors get new rows).
An index snapshot is therefore brought up to date by comparing labels alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quizglass_server.errors import KnowledgeFailed

FILE = "knowledge.sqlite3"
SCHEMA_VERSION = 1
_APPLICATION_ID = 0x515A474C  # "QZGL": tells a knowledge store from any other SQLite file

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('sequence', 0);

CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    caption TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    attributes TEXT NOT NULL,      -- JSON object of strings, in the order given
    source TEXT NOT NULL
);

CREATE TABLE chunks (
    label INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL REFERENCES entries (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    space TEXT NOT NULL,           -- what made the vector: vectors of different spaces do not compare
    vector BLOB NOT NULL           -- float32, little-endian, L2-normalised
);
CREATE INDEX chunks_of_entry ON chunks (entry);
CREATE INDEX chunks_in_space ON chunks (space, entry);

CREATE TABLE picture_files (sha256 BLOB PRIMARY KEY, encoded BLOB NOT NULL);
CREATE TABLE pictures (
    label INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL REFERENCES entries (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    sha256 BLOB NOT NULL REFERENCES picture_files (sha256),
    space TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX pictures_of_entry ON pictures (entry);
CREATE INDEX pictures_in_space ON pictures (space, entry);
CREATE INDEX pictures_of_file ON pictures (sha256);

CREATE TABLE graphs (
    kind TEXT PRIMARY KEY,         -- pictures or chunks
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    space TEXT NOT NULL,
    sequence INTEGER NOT NULL
) WITHOUT ROWID;
"""

_MEANING = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again",
    sqlite3.SQLITE_READONLY: "it is read-only; make it writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check the directory and its permissions",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it from a copy, or move it away and import again",
    sqlite3.SQLITE_NOTADB: "it is not a knowledge store, or it is damaged; move it away and import again",
    sqlite3.SQLITE_IOERR: "the disk failed; check it and restart the server",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into KnowledgeFailed with the file and what to do next."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
        meaning = _MEANING.get(code, f"SQLite reports {type(error).__name__}; see the server's log")
        raise KnowledgeFailed(f"{path}: {meaning}", file=path.name) from error


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open the truth, for one thread at a time.

    Writers wait for the disk at every commit (synchronous=FULL also syncs the write-ahead log): what is acknowledged
    survives the loss of power. Readers see the last commit and never move the log into the file: only one connection
    does that.

    Raises:
        KnowledgeFailed: the file cannot be opened or is of another kind or a newer version.
    """
    with explained(path):
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
        try:
            _prepare(connection, path, write)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    if write:
        _check_version(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    else:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA mmap_size = 0")  # a damaged or cut file then gives an error, not a signal


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if empty and version == 0 and application == 0:
        _create(connection)
    elif application != _APPLICATION_ID:
        raise KnowledgeFailed(f"{path}: this is not a knowledge store; give another directory", file=path.name)
    elif version != SCHEMA_VERSION:
        raise KnowledgeFailed(
            f"{path}: schema version {version}, this server reads {SCHEMA_VERSION}; use the server that wrote it",
            file=path.name,
        )


def _create(connection: sqlite3.Connection) -> None:
    """All or nothing: a crash here leaves an empty file, which is created again."""
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {_APPLICATION_ID};"
        f"PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
    )


@contextmanager
def transaction(connection: sqlite3.Connection, *, write: bool) -> Iterator[None]:
    """One transaction; rolled back when the body raises."""
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
