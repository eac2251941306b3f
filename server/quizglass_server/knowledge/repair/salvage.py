"""Moves what is sound of a damaged database into a new file.

Rows are fetched one by one by their numbers, so that a page that cannot be read costs only what it held. Of an entry
that is sound, chunks and vectors that are lost are left for the encoders to make again at the next start; an entry or
a picture that is not sound itself is reported. The file before is kept.
"""

from __future__ import annotations

import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import EntryDraft, VectorKind, entry_of
from quizglass_server.knowledge.database.checksums import StoreState, row_digest
from quizglass_server.knowledge.database.clean_shutdown import ShutdownRecord, read_flag
from quizglass_server.knowledge.database.schema import (
    CHUNK_COLUMNS,
    ENTRY_COLUMNS,
    FILE,
    PICTURE_COLUMNS,
    connect,
    explained,
    is_new,
    schema_version,
)
from quizglass_server.knowledge.database.writer import DatabaseWriter
from quizglass_server.knowledge.repair.swapping import SALVAGE, clear, swap, undo_interrupted, whole_length
from quizglass_server.steady_clock import SteadyClock

LOST = "lost"
"""Space of rows whose vector has to be made again."""

_COLUMNS = {
    "entries": f"{ENTRY_COLUMNS}, digest",
    "chunks": f"{CHUNK_COLUMNS}, digest",
    "pictures": f"{PICTURE_COLUMNS}, digest",
}
_KEY = {"entries": "number", "chunks": "label", "pictures": "label"}
_BEYOND = 4096  # numbers tried beyond the highest one that can be read
_IF_UNKNOWN = 1 << 20
_TOGETHER = 64  # entries a commit
_EMPTY = np.empty(0, np.float32)

Spaces = dict[VectorKind, str]


@dataclass(slots=True)
class Salvaged:
    """What a salvage kept, and what is lost."""

    entries: int = 0
    """Entries kept."""
    lost: list[str] = field(default_factory=list)
    """Entries that could not be kept, and pictures that are missing from those that could, in words."""
    nameless: int = 0
    """Entries that could not be kept and of which nothing is known."""
    doubts: list[str] = field(default_factory=list)
    """What else may be missing, in words."""
    remade: int = 0
    """Entries some of whose vectors the next start makes again."""
    kept_as: Path | None = None
    """The file before."""


def salvage(directory: Path, step: Callable[[int], None] = lambda _entries: None) -> Salvaged:
    """Put a file with everything sound of the database in its place. No server may run: hold the directory's lock.

    Raises:
        KnowledgeFailed: it is not a knowledge store, or the new file cannot be written. The old one is untouched.
    """
    path, fresh = directory / FILE, directory / SALVAGE
    check_repairable(directory)
    with explained(path):
        clear(fresh)
        undo_interrupted(directory)
    try:
        return _salvaged(directory, fresh, step)
    except BaseException:
        with suppress(OSError):  # it would take the room that is wanted
            clear(fresh)
        raise


def check_repairable(directory: Path) -> None:
    """Refuse a directory without a database, before a lock is left there. Raises KnowledgeFailed."""
    if not directory.is_dir():
        raise KnowledgeFailed(f"directory {directory}: it is no directory, or does not exist")
    if is_new(directory / FILE):
        told = f"{directory}: {FILE} is missing or empty: nothing can be repaired"
        raise KnowledgeFailed(f"{told}; name the directory of a knowledge store, or restore a snapshot", file=FILE)


def _salvaged(directory: Path, fresh: Path, step: Callable[[int], None]) -> Salvaged:
    path = directory / FILE
    with explained(path):
        fresh.mkdir(mode=0o700)
        source = whole_length(path, fresh)
    with closing(connect(source, write=False)) as connection, explained(path):
        mark = read_flag(directory)
        for table in (
            _KEY if schema_version(connection, FILE) else ["state"]
        ):  # without tables there is nothing to look for
            connection.execute(f"SELECT count(*) FROM {table} WHERE 0").fetchall()  # noqa: S608  # our own names
        old = _Old(connection, mark)
        report = _fill(old, fresh / FILE, step)
        _account(report, old.state, mark, old.guessed)
    with explained(path):
        shutil.copymode(path, fresh / FILE)
        report.kept_as = swap(directory, fresh)
    return report


def _fill(old: _Old, path: Path, step: Callable[[int], None]) -> Salvaged:
    report = Salvaged()
    writer = DatabaseWriter(path, SteadyClock(old.state.clock))
    try:
        writer.continue_store(old.state)
        waiting: list[tuple[EntryDraft, Spaces]] = []
        for draft in old.drafts(report):
            waiting.append(draft)
            if len(waiting) == _TOGETHER:
                _write(writer, waiting)
                waiting = []
                step(report.entries)
        _write(writer, waiting)
        writer.shrink()
    finally:
        writer.close()
    return report


def _account(report: Salvaged, state: StoreState, mark: ShutdownRecord | None, guessed: bool) -> None:
    """Say what is missing without a trace among the rows."""
    if guessed:
        report.doubts.append("how many entries there were is not known")
    else:
        named = sum(line.startswith("entry ") for line in report.lost)
        report.nameless = max(0, state.count - report.entries - named)
    if mark is not None and mark.store != state.store:
        report.doubts.append("the file is another store's, or does not know which store's it is")
    elif mark is not None and mark.sequence > state.sequence:
        report.doubts.append(f"the last {mark.sequence - state.sequence} acknowledged commits are missing")


def _write(writer: DatabaseWriter, drafts: list[tuple[EntryDraft, Spaces]]) -> None:
    def put_all(writer: DatabaseWriter) -> None:
        for draft, spaces in drafts:
            writer.put([draft], spaces)

    for outcome in writer.run([put_all]):
        if isinstance(outcome, Exception):
            raise outcome


class _Old:
    """The database that is salvaged. What it cannot read, it takes for missing."""

    def __init__(self, connection: sqlite3.Connection, mark: ShutdownRecord | None) -> None:
        self._db = connection
        self._mark = mark
        self.guessed = False
        self.state = self._state()
        self._now = SteadyClock(self.state.clock)()

    def drafts(self, report: Salvaged) -> Iterator[tuple[EntryDraft, Spaces]]:
        """Every sound entry with what is sound of its chunks and pictures."""
        chunks, pictures = self._by_entry("chunks"), self._by_entry("pictures")
        numbers = self._numbers("entries")
        for number in numbers:
            row = self._row("entries", number)
            if row is not None:
                yield self._draft(row, chunks.get(number, []), pictures.get(number, []), report)
            elif number in chunks or number in pictures:
                report.lost.append(f"entry number {number}")

    def _draft(
        self, row: tuple[Any, ...], chunks: list[tuple[Any, ...]], pictures: list[tuple[Any, ...]], report: Salvaged
    ) -> tuple[EntryDraft, Spaces]:
        entry = entry_of(row, self._now)
        files: dict[bytes, bytes] = {}
        for digest in dict.fromkeys(entry.picture_sha256):
            if (encoded := self._file(digest)) is None:
                report.lost.append(f"a picture of entry {entry.id} ({digest.hex()[:16]})")
            else:
                files[digest] = encoded
        draft = EntryDraft(entry)
        spaces = {
            VectorKind.CHUNKS: self._take_chunks(draft, chunks),
            VectorKind.PICTURES: self._take_pictures(draft, files, pictures, report),
        }
        report.entries += 1
        report.remade += LOST in spaces.values()
        return draft, spaces

    def _take_chunks(self, draft: EntryDraft, rows: list[tuple[Any, ...]]) -> str:
        """The chunks, if all are sound and of one space; else one that stands for those to be made."""
        rows.sort(key=lambda row: int(row[2]))
        whole = rows and [row[2] for row in rows] == list(range(rows[0][6])) and len({row[4] for row in rows}) == 1
        if whole:
            draft.chunks = [row[3] for row in rows]
            draft.chunk_vectors = [np.frombuffer(row[5], "<f4") for row in rows]
            return str(rows[0][4])
        entry = draft.entry
        if rows or entry.text or entry.caption or entry.attributes:
            draft.chunks, draft.chunk_vectors = ["(lost)"], [_EMPTY]
        return LOST

    def _take_pictures(
        self, draft: EntryDraft, files: Mapping[bytes, bytes], rows: list[tuple[Any, ...]], report: Salvaged
    ) -> str:
        """The vectors of its pictures, if each has a sound one and all are of one space; else they are to be made.

        A picture of the visual memory has several, one a view: those that are sound are kept.
        """
        entry = draft.entry
        shown = tuple(digest for digest in entry.picture_sha256 if digest in files)
        rows = sorted((row for row in rows if row[3] in files), key=lambda row: int(row[2]))
        hashes, spaces = {row[3]: row[6] for row in rows}, {row[4] for row in rows}
        whole = hashes.keys() == set(shown) and len(spaces) == 1
        draft.picture_vectors = [_EMPTY] * len(shown)
        if whole:
            if lacking := len(shown) - len(rows):
                report.lost.append(f"{lacking} of {len(shown)} views of entry {entry.id}")
            shown = tuple(row[3] for row in rows)
            draft.picture_vectors = [np.frombuffer(row[5], "<f4") for row in rows]
        draft.entry = replace(entry, picture_sha256=shown)
        draft.pictures = [files[digest] for digest in shown]
        draft.perceptual_hashes = [hashes.get(digest, 0) for digest in shown]
        if not shown:
            return ""
        return str(spaces.pop()) if whole else LOST

    def _by_entry(self, table: str) -> dict[int, list[tuple[Any, ...]]]:
        by_entry: dict[int, list[tuple[Any, ...]]] = {}
        for label in self._numbers(table):
            row = self._row(table, label)
            if row is not None:
                by_entry.setdefault(row[1], []).append(row)
        return by_entry

    def _row(self, table: str, number: int) -> tuple[Any, ...] | None:
        """A sound row, or None."""
        selected = f"SELECT {_COLUMNS[table]} FROM {table} WHERE {_KEY[table]} = ?"  # noqa: S608  # our own names
        row = self._one(selected, number)
        return row[:-1] if row is not None and row_digest(row[:-1], self.state.key) == row[-1] else None

    def _file(self, digest: bytes) -> bytes | None:
        row = self._one("SELECT encoded FROM picture_files WHERE sha256 = ?", digest)
        if row is None or not isinstance(row[0], bytes) or sha256(row[0]).digest() != digest:
            row = self._one("SELECT encoded FROM picture_files NOT INDEXED WHERE sha256 = ?", digest)
        if row is None or not isinstance(row[0], bytes) or sha256(row[0]).digest() != digest:
            return None
        return row[0]

    def _numbers(self, table: str) -> range:
        return range(1, self.state.last.get(table, 0) + 1)

    def _state(self) -> StoreState:
        """What the database says about itself; guessed from its rows where that cannot be read."""
        with suppress(sqlite3.Error, KnowledgeFailed):
            return StoreState.load(self._db, FILE)
        self.guessed = True
        state = StoreState(self._mark.store if self._mark is not None else secrets.token_hex(16))
        for table, key in _KEY.items():
            row = self._one(f"SELECT max({key}) FROM {table} WHERE {key} > ?", 0)  # noqa: S608  # our own names
            highest = row[0] if row is not None else _IF_UNKNOWN
            state.last[table] = highest + _BEYOND if isinstance(highest, int) and highest < _IF_UNKNOWN else _IF_UNKNOWN
        return state

    def _one(self, statement: str, value: object) -> tuple[Any, ...] | None:
        try:
            row: tuple[Any, ...] | None = self._db.execute(statement, (value,)).fetchone()
        except sqlite3.Error:
            return None
        return row
