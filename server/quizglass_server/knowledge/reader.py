"""Reading the truth: entries, hits, labels, vectors. Every method sees one commit, not parts of two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from quizglass_server.domain import Entry
from quizglass_server.errors import KnowledgeFailed, NotFound
from quizglass_server.knowledge.records import GraphRecord, Kind, Labels, Matrix
from quizglass_server.knowledge.schema import connect, explained, transaction

UNUSABLE = "unusable:"
"""Prefix of the space of a vector that could not be made; its blob is empty."""

PAGE_CHARS = 4 << 20
"""Of text: twice what a message of entries may hold, so that a page cut here is always cut there too."""

_ENTRY = "SELECT number, id, title, caption, kind, text, attributes, source FROM entries"
_LABELS = {
    Kind.PICTURES: "SELECT label, entry FROM pictures WHERE space = ? ORDER BY label",
    Kind.CHUNKS: "SELECT label, entry FROM chunks WHERE space = ? ORDER BY label",
}
_VECTORS = {
    Kind.PICTURES: "SELECT label, vector FROM pictures WHERE label > ? AND space = ? ORDER BY label LIMIT ?",
    Kind.CHUNKS: "SELECT label, vector FROM chunks WHERE label > ? AND space = ? ORDER BY label LIMIT ?",
}
_HIT = {
    Kind.PICTURES: "SELECT entry, '' FROM pictures WHERE label = ?",
    Kind.CHUNKS: "SELECT entry, text FROM chunks WHERE label = ?",
}


class Reader:
    """A connection that reads; for one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open. Raises KnowledgeFailed."""
        self._file = Path(path.name)  # in errors, which clients see: where it lies is not their business
        self._db = connect(path, write=False)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def count(self) -> int:
        """Number of entries."""
        with explained(self._file):
            return int(self._db.execute("SELECT count(*) FROM entries").fetchone()[0])

    def sequence(self) -> int:
        """Number of commits that changed entries, ever."""
        with explained(self._file):
            return int(self._db.execute("SELECT value FROM meta WHERE key = 'sequence'").fetchone()[0])

    def entry(self, entry_id: str) -> Entry:
        """One entry. Raises NotFound."""
        with explained(self._file), transaction(self._db, write=False):
            row = self._db.execute(f"{_ENTRY} WHERE id = ?", (entry_id,)).fetchone()
            if row is None:
                raise NotFound(f"no entry {entry_id!r} in the knowledge store", entry=entry_id)
            return self._whole(row)

    def page(self, after: str, limit: int) -> list[Entry]:
        """Up to `limit` entries whose id is greater than `after`, in order of id (code points), at least one if any.

        A page ends with the entry that takes it beyond `PAGE_CHARS`.
        """
        page: list[Entry] = []
        size = 0
        with explained(self._file), transaction(self._db, write=False):
            for row in self._db.execute(f"{_ENTRY} WHERE id > ? ORDER BY id LIMIT ?", (after, limit)):
                page.append(self._whole(row))
                size += len(row[5]) + len(row[6])  # text and attributes
                if size > PAGE_CHARS:
                    break
        return page

    def hits(self, kind: Kind, labels: Sequence[int]) -> dict[int, tuple[Entry, str]]:
        """Entry and chunk text ("" for pictures) of each label that still exists."""
        found: dict[int, tuple[Entry, str]] = {}
        entries: dict[int, Entry] = {}
        with explained(self._file), transaction(self._db, write=False):
            for label in labels:
                row = self._db.execute(_HIT[kind], (label,)).fetchone()
                if row is None:
                    continue
                number, text = row
                if number not in entries:
                    entries[number] = self._numbered(number)
                found[label] = (entries[number], text)
        return found

    def labels(self, kind: Kind, space: str) -> tuple[Labels, Labels]:
        """Labels in ascending order, and the number of the entry each belongs to."""
        with explained(self._file):
            rows = self._db.execute(_LABELS[kind], (space,)).fetchall()
        pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def vectors(
        self, kind: Kind, space: str, dimension: int, *, after: int = 0, batch: int = 1024
    ) -> Iterator[tuple[Labels, Matrix]]:
        """Vectors of a space in batches, by ascending label from `after`; each batch is as of its own commit.

        Raises:
            KnowledgeFailed: a stored vector is not of this dimension.
        """
        while True:
            with explained(self._file):
                rows = self._db.execute(_VECTORS[kind], (after, space, batch)).fetchall()
            if not rows:
                return
            after = int(rows[-1][0])
            if any(len(blob) != 4 * dimension for _, blob in rows):
                raise KnowledgeFailed(
                    f"{self._file}: table {kind.value} holds vectors that are not of {dimension} dimensions; "
                    "it is damaged: restore it from a copy, or move it away and import again"
                )
            matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4").reshape(-1, dimension)
            yield np.array([label for label, _ in rows], dtype=np.int64), matrix.astype(np.float32, copy=False)

    def graph(self, kind: Kind) -> GraphRecord | None:
        """The index snapshot that belongs to this truth."""
        with explained(self._file):
            row = self._db.execute(
                "SELECT file, sha256, space, sequence FROM graphs WHERE kind = ?", (kind.value,)
            ).fetchone()
        return None if row is None else GraphRecord(*row)

    def entries_outside(self, space: str, limit: int) -> list[tuple[int, Entry]]:
        """Entries with chunks whose vectors are of another space, with their numbers."""
        with explained(self._file), transaction(self._db, write=False):
            rows = self._db.execute(
                "SELECT DISTINCT entry FROM chunks WHERE space <> ? ORDER BY entry LIMIT ?", (space, limit)
            ).fetchall()
            return [(number, self._numbered(number)) for (number,) in rows]

    def pictures_outside(self, space: str, limit: int) -> list[tuple[int, bytes]]:
        """Labels and encoded bytes of pictures whose vectors are of another space, but for unusable ones."""
        with explained(self._file):
            rows: list[tuple[int, bytes]] = self._db.execute(
                "SELECT label, encoded FROM pictures JOIN picture_files USING (sha256)"
                " WHERE space NOT IN (?, ?) ORDER BY label LIMIT ?",
                (space, UNUSABLE + space, limit),
            ).fetchall()
        return rows

    def _numbered(self, number: int) -> Entry:
        return self._whole(self._db.execute(f"{_ENTRY} WHERE number = ?", (number,)).fetchone())

    def _whole(self, row: tuple[int, str, str, str, str, str, str, str]) -> Entry:
        number, entry_id, title, caption, kind, text, attributes, source = row
        hashes = self._db.execute("SELECT sha256 FROM pictures WHERE entry = ? ORDER BY position", (number,))
        return Entry(
            id=entry_id,
            title=title,
            caption=caption,
            kind=kind,
            text=text,
            attributes=json.loads(attributes),
            source=source,
            picture_sha256=tuple(sha256 for (sha256,) in hashes.fetchall()),
        )
