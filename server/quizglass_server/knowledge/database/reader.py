"""Reading the database: entries, hits, labels, vectors. Every method sees one commit, not parts of two."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quizglass.values import Entry
from quizglass_server.errors import NotFound
from quizglass_server.knowledge.content.records import (
    Filed,
    GraphRecord,
    Hit,
    Labels,
    Matrix,
    VectorKind,
    entry_of,
    no_entry,
)
from quizglass_server.knowledge.database.checksums import (
    StoreState,
    damaged,
    id_digest,
    labels_of,
    labels_sum,
    row_digest,
    signed,
)
from quizglass_server.knowledge.database.schema import (
    CHUNK_COLUMNS,
    ENTRY_COLUMNS,
    PICTURE_COLUMNS,
    connect,
    explained,
)
from quizglass_server.steady_clock import Clock

UNUSABLE = "unusable:"
"""Prefix of the space of a vector that could not be made; its blob is empty."""

PAGE_CHARS = 4 << 20
"""Characters of a page: twice what a message of entries may hold, so that a page cut here is always cut there too."""

_ENTRY = f"SELECT {ENTRY_COLUMNS}, digest FROM entries"  # noqa: S608  # our own names
ROWS = {
    VectorKind.PICTURES: f"SELECT {PICTURE_COLUMNS}, digest FROM pictures",  # noqa: S608
    VectorKind.CHUNKS: f"SELECT {CHUNK_COLUMNS}, digest FROM chunks",  # noqa: S608
}
_LABELS = {
    VectorKind.PICTURES: "SELECT label, entry, space FROM pictures INDEXED BY pictures_in_space",
    VectorKind.CHUNKS: "SELECT label, entry, space FROM chunks INDEXED BY chunks_in_space",
}
_SHOWN = (  # 1: by an entry that lives, 0: by others alone, nothing: by none
    "SELECT max(coalesce(expires = 0 OR expires > ?, 1)) FROM pictures LEFT JOIN entries ON number = entry"
    " WHERE sha256 = ?"
)
_TOGETHER = 500  # values of one query
_BATCH = 256  # entries read at once
_VECTOR, _SPACE = 5, 4  # columns of both kinds


class DatabaseReader:
    """A connection that reads; for one thread at a time."""

    def __init__(self, path: Path, clock: Clock = time.time, *, untouched: bool = False) -> None:
        """Open; `untouched` as of `connect`. Raises KnowledgeFailed."""
        self._clock = clock
        self._file = path
        self._db = connect(path, write=False, untouched=untouched)
        try:
            self.key = self.state().key
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    @contextmanager
    def one_commit(self) -> Iterator[sqlite3.Connection]:
        """The connection, inside one read transaction. Raises KnowledgeFailed for what SQLite raises."""
        with explained(self._file):
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                if self._db.in_transaction:  # some failures have ended it
                    self._db.execute("ROLLBACK")

    def state(self) -> StoreState:
        """What the database says about itself. Raises KnowledgeFailed when that is damaged."""
        with explained(self._file):
            return StoreState.load(self._db, self._file.name)

    def entry(self, entry_id: str) -> Entry:
        """One entry that has not expired. Raises NotFound."""
        with self.one_commit() as db:
            selected = "SELECT 1 FROM entries WHERE id = ? AND expires > 0 AND expires <= ?"
            if db.execute(selected, (entry_id, int(self._clock()))).fetchone() is not None:
                raise no_entry(entry_id)
            return self.named(entry_id)

    def named(self, entry_id: str) -> Entry:
        """One entry; inside `one_commit`. Raises NotFound, KnowledgeFailed."""
        row = self._db.execute(f"{_ENTRY} WHERE id = ?", (entry_id,)).fetchone()
        if row is None:
            raise no_entry(entry_id)
        if row[1] != entry_id:
            raise damaged(self._file.name, f"the index of ids, at {entry_id!r},")
        return self._whole(row)

    def numbered(self, ids: Iterable[str]) -> set[int]:
        """The numbers of those of these entries that exist."""
        with self.one_commit():
            rows = [self._db.execute("SELECT number FROM entries WHERE id = ?", (id_,)).fetchone() for id_ in ids]
        return {number for (number,) in filter(None, rows)}

    def picture(self, sha256: bytes) -> bytes:
        """A stored picture of an entry that has not expired, encoded. Raises NotFound, KnowledgeFailed."""
        with self.one_commit() as db:
            row = db.execute("SELECT encoded FROM picture_files WHERE sha256 = ?", (sha256,)).fetchone()
            shown = db.execute(_SHOWN, (int(self._clock()), sha256)).fetchone()[0]
        if row is None and shown is not None:  # the index that should have led to it is damaged
            raise damaged(self._file.name, f"picture {sha256.hex()[:16]}")
        if row is None or shown == 0:
            raise NotFound(f"no picture {sha256.hex()[:16]} in the knowledge store")
        if hashlib.sha256(row[0]).digest() != sha256:
            raise damaged(self._file.name, f"picture {sha256.hex()[:16]}")
        return bytes(row[0])

    def page(self, after: str, limit: int) -> list[Entry]:
        """Up to `limit` entries whose id is greater than `after`, in order of id (code points), at least one if any.

        A page ends with the entry that takes it beyond `PAGE_CHARS`.
        """
        page: list[Entry] = []
        size = 0
        with self.one_commit():
            selected = f"{_ENTRY} WHERE id > ? AND (expires = 0 OR expires > ?) ORDER BY id LIMIT ?"
            for row in self._db.execute(selected, (after, int(self._clock()), limit)):
                page.append(self._whole(row))
                size += len(row[5]) + len(row[6])  # text and attributes
                if size > PAGE_CHARS:
                    break
        return page

    def hits(self, kind: VectorKind, labels: Sequence[int]) -> dict[int, Hit]:
        """What each label that still exists stands for."""
        hits: dict[int, Hit] = {}
        with self.one_commit():
            rows = self._among(f"{ROWS[kind]} WHERE label", labels)
            for row in rows:
                self._check(kind, row)
            entries = self._present(list(dict.fromkeys(row[1] for row in rows)))
        for row in rows:
            label, number = row[:2]
            text, perceptual_hash = (row[3], 0) if kind is VectorKind.CHUNKS else ("", row[6])
            hits[label] = Hit(number, entries[number], text, perceptual_hash)
        return hits

    def labels(self, kind: VectorKind) -> dict[str, NDArray[np.int64]]:
        """Labels and the numbers of their entries, by the space of the vectors: int64 [n, 2], by ascending label.

        Raises:
            KnowledgeFailed: labels are missing, doubled or altered.
        """
        with self.one_commit():
            state = StoreState.load(self._db, self._file.name)
            rows = self._db.execute(_LABELS[kind]).fetchall()
        by_space: dict[str, list[tuple[int, int]]] = {}
        for label, entry, space in rows:
            by_space.setdefault(space, []).append((label, entry))
        pairs = {name: self._pairs(kind, rows) for name, rows in by_space.items()}
        sums = {labels_of(kind, name): labels_sum(rows[:, 0], rows[:, 1]) for name, rows in pairs.items()}
        expected = {name: total for name, total in state.sums.items() if name.startswith(labels_of(kind, ""))}
        if {name: total for name, total in sums.items() if total} != expected:
            raise damaged(self._file.name, f"table {kind.value}")
        return {name: rows[np.argsort(rows[:, 0])] for name, rows in pairs.items()}

    def check_ids(self) -> StoreState:
        """Compare the ids of all entries with their sum. Raises KnowledgeFailed."""
        with self.one_commit():
            state = StoreState.load(self._db, self._file.name)
            rows = self._db.execute("SELECT number, id FROM entries INDEXED BY sqlite_autoindex_entries_1").fetchall()
        try:
            total = signed(sum(id_digest(number, entry_id) for number, entry_id in rows))
        except (TypeError, AttributeError) as error:
            raise damaged(self._file.name, "table entries") from error
        if total != state.sums.get("ids", 0) or len(rows) != state.count:
            raise damaged(self._file.name, "table entries")
        return state

    def vectors(
        self, kind: VectorKind, space: str, dimension: int, *, after: int = 0
    ) -> Iterator[tuple[Labels, Matrix]]:
        """Vectors of a space in batches, by ascending label from `after`; each batch is as of its own commit.

        Raises:
            KnowledgeFailed: a row is damaged, or a stored vector is not of this dimension.
        """
        for rows in self.rows(kind, after=after):
            kept = [row for row in rows if row[_SPACE] == space]
            if any(len(row[_VECTOR]) != 4 * dimension for row in kept):
                raise damaged(self._file.name, f"table {kind.value} (vectors that are not of {dimension} dimensions)")
            if kept:
                matrix = np.frombuffer(b"".join(row[_VECTOR] for row in kept), dtype="<f4").reshape(-1, dimension)
                yield np.array([row[0] for row in kept], dtype=np.int64), matrix.astype(np.float32, copy=False)

    def rows(self, kind: VectorKind, *, after: int = 0) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of vectors in batches, by ascending label, each checked. Raises KnowledgeFailed."""
        while True:
            with explained(self._file):
                selected = f"{ROWS[kind]} WHERE label > ? ORDER BY label LIMIT ?"
                rows = self._db.execute(selected, (after, _BATCH)).fetchall()
            if not rows:
                return
            for row in rows:
                self._check(kind, row)
            after = int(rows[-1][0])
            yield rows

    def filed(self, after: int) -> Iterator[list[Filed]]:
        """Entries of a higher number in batches, in their order, without their chunks. Raises KnowledgeFailed."""
        while True:
            with self.one_commit():
                selected = f"{_ENTRY} WHERE number > ? ORDER BY number LIMIT ?"
                rows = self._db.execute(selected, (after, _BATCH)).fetchall()
                entries = [Filed(row[0], self._whole(row), row[11]) for row in rows]
            if not entries:
                return
            after = entries[-1].number
            yield entries

    def entries(self, numbers: Sequence[int]) -> dict[int, Entry]:
        """The existing ones of these entries, by number. Raises KnowledgeFailed when one is damaged."""
        with self.one_commit():
            return self._those(numbers)

    def size(self) -> int:
        """Bytes of the file that hold something, and are not free for what comes next."""
        with self.one_commit():
            pages, free, size = (
                int(self._db.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size

    def numbers(self) -> list[int]:
        """Numbers of all entries."""
        with explained(self._file):
            rows = self._db.execute("SELECT number FROM entries INDEXED BY sqlite_autoindex_entries_1").fetchall()
        return [number for (number,) in rows]

    def graph(self, name: str) -> GraphRecord | None:
        """The index snapshot that belongs to this database, a file beside others of its kind."""
        with explained(self._file):
            selected = "SELECT file, sha256, space, sequence FROM graphs WHERE kind = ?"
            row = self._db.execute(selected, (name,)).fetchone()
        if row is None or [type(column) for column in row] != [str, str, str, int] or Path(row[0]).name != row[0]:
            return None  # its row is altered, of which no checksum tells
        return GraphRecord(*row)

    def graphs(self) -> list[GraphRecord]:
        """All index snapshots that belong to this database."""
        with explained(self._file):
            names = [name for (name,) in self._db.execute("SELECT kind FROM graphs").fetchall()]
        return [record for record in map(self.graph, names) if record is not None]

    def entries_outside(self, space: str, limit: int) -> list[tuple[int, Entry]]:
        """Entries with chunks whose vectors are of another space, with their numbers."""
        with self.one_commit():
            rows = self._db.execute(
                "SELECT DISTINCT entry FROM chunks WHERE space <> ? ORDER BY entry LIMIT ?", (space, limit)
            ).fetchall()
            return list(self._present([number for (number,) in rows]).items())

    def pictures_outside(self, space: str, limit: int, most_bytes: int) -> list[tuple[int, bytes]]:
        """Labels and encoded bytes of pictures whose vectors are of another space, but for unusable ones.

        They end with the picture that takes them beyond `most_bytes`.
        """
        rows: list[tuple[int, bytes]] = []
        with self.one_commit() as db:
            selected = (
                "SELECT label, encoded FROM pictures JOIN picture_files USING (sha256)"
                " WHERE space NOT IN (?, ?) ORDER BY label LIMIT ?"
            )
            for row in db.execute(selected, (space, UNUSABLE + space, limit)):
                rows.append(row)
                if sum(len(encoded) for _, encoded in rows) > most_bytes:
                    break
        return rows

    def _among(self, selected: str, values: Sequence[int]) -> list[tuple[Any, ...]]:
        """Rows whose last named column is one of the values."""
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(values), _TOGETHER):
            some = values[start : start + _TOGETHER]
            rows += self._db.execute(f"{selected} IN ({', '.join('?' * len(some))})", some).fetchall()
        return rows

    def _pairs(self, kind: VectorKind, pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
        try:
            return np.array(pairs, dtype=np.int64).reshape(-1, 2)
        except (TypeError, ValueError, OverflowError) as error:  # of other types, in a damaged file
            raise damaged(self._file.name, f"table {kind.value}") from error

    def _those(self, numbers: Sequence[int]) -> dict[int, Entry]:
        return {row[0]: self._whole(row) for row in self._among(f"{_ENTRY} WHERE number", numbers)}

    def _present(self, numbers: Sequence[int]) -> dict[int, Entry]:
        """Entries by number, all of which there have to be."""
        entries = self._those(numbers)
        for number in numbers:
            if number not in entries:
                raise damaged(self._file.name, f"entry number {number} is missing; the store")
        return entries

    def _whole(self, row: tuple[Any, ...]) -> Entry:
        """The entry of a row, which is checked."""
        if row_digest(row[:-1], self.key) != row[-1]:
            raise damaged(self._file.name, f"entry {str(row[1])[:200]!r}")
        return entry_of(row, self._clock())

    def _check(self, kind: VectorKind, row: tuple[Any, ...]) -> None:
        if row_digest(row[:-1], self.key) != row[-1]:
            raise damaged(self._file.name, f"row {row[0]} of table {kind.value}")
