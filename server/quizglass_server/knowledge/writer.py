"""Writing the truth. When a method returns, its change is on disk; when it raises, nothing of it happened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_server.domain import Vector
from quizglass_server.errors import NotFound
from quizglass_server.knowledge.reader import UNUSABLE
from quizglass_server.knowledge.records import Change, Draft, GraphRecord, Kind
from quizglass_server.knowledge.schema import connect, explained, transaction

_OWN_LABELS = {
    Kind.PICTURES: "SELECT label FROM pictures WHERE entry = ?",
    Kind.CHUNKS: "SELECT label FROM chunks WHERE entry = ?",
}
_ADD_CHUNK = "INSERT INTO chunks (entry, position, text, space, vector) VALUES (?, ?, ?, ?, ?)"
_ADD_PICTURE = "INSERT INTO pictures (entry, position, sha256, space, vector) VALUES (?, ?, ?, ?, ?)"
_ADD_ENTRY = "INSERT INTO entries (id, title, caption, kind, text, attributes, source) VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclass(slots=True)
class Rechunked:
    """An entry, by number, with its new chunks and their vectors."""

    number: int
    chunks: Sequence[str]
    vectors: list[Vector] = field(default_factory=list)


class Writer:
    """The one connection that writes; for one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Open, creating the tables in a new file. Raises KnowledgeFailed."""
        self._file = Path(path.name)  # in errors, which clients see
        self._db = connect(path, write=True)

    def close(self) -> None:
        """Move the write-ahead log into the file and close."""
        self._db.close()

    def put(self, drafts: Sequence[Draft], spaces: Mapping[Kind, str]) -> Change:
        """Add or replace entries, in one commit. Of two of the same id the later stays."""
        change = Change()
        with explained(self._file), transaction(self._db, write=True):
            for draft in drafts:
                change.entries -= self._remove(draft.entry.id, change)
                self._insert(draft, spaces, change)
                change.entries += 1
            self._count_up()
        return settled(change)

    def delete(self, entry_id: str) -> Change:
        """Delete an entry with its chunks, and its pictures unless others show them. Raises NotFound."""
        change = Change()
        with explained(self._file), transaction(self._db, write=True):
            if not self._remove(entry_id, change):
                raise NotFound(f"no entry {entry_id!r} in the knowledge store", entry=entry_id)
            change.entries = -1
            self._count_up()
        return change

    def replace_chunks(self, rechunked: Sequence[Rechunked], space: str) -> None:
        """Give entries other chunks, with vectors of another space."""
        with explained(self._file), transaction(self._db, write=True):
            for made in rechunked:
                self._db.execute("DELETE FROM chunks WHERE entry = ?", (made.number,))
                for position, (text, vector) in enumerate(zip(made.chunks, made.vectors, strict=True)):
                    self._db.execute(_ADD_CHUNK, (made.number, position, text, space, _blob(vector)))

    def replace_picture_vectors(self, vectors: dict[int, Vector | None], space: str) -> None:
        """Give pictures, by label, vectors of another space under new labels; None: it could not be made."""
        with explained(self._file), transaction(self._db, write=True):
            for label, vector in vectors.items():
                entry, position, sha256 = self._db.execute(
                    "DELETE FROM pictures WHERE label = ? RETURNING entry, position, sha256", (label,)
                ).fetchall()[0]
                made = (space, _blob(vector)) if vector is not None else (UNUSABLE + space, b"")
                self._db.execute(_ADD_PICTURE, (entry, position, sha256, *made))

    def record_graph(self, kind: Kind, graph: GraphRecord) -> None:
        """Say which index snapshot belongs to this truth."""
        with explained(self._file), transaction(self._db, write=True):
            self._db.execute(
                "INSERT OR REPLACE INTO graphs (kind, file, sha256, space, sequence) VALUES (?, ?, ?, ?, ?)",
                (kind.value, graph.file, graph.sha256, graph.space, graph.sequence),
            )

    def _remove(self, entry_id: str, change: Change) -> int:
        """Remove an entry if it exists, noting the labels that go; how many entries were removed, 0 or 1."""
        row = self._db.execute("SELECT number FROM entries WHERE id = ?", (entry_id,)).fetchone()
        if row is None:
            return 0
        for kind, query in _OWN_LABELS.items():
            change.removed[kind].extend(label for (label,) in self._db.execute(query, row).fetchall())
        hashes = self._db.execute("SELECT sha256 FROM pictures WHERE entry = ?", row).fetchall()
        self._db.execute("DELETE FROM entries WHERE number = ?", row)
        self._db.executemany(
            "DELETE FROM picture_files WHERE sha256 = ?1 AND NOT EXISTS (SELECT 1 FROM pictures WHERE sha256 = ?1)",
            hashes,
        )
        return 1

    def _insert(self, draft: Draft, spaces: Mapping[Kind, str], change: Change) -> None:
        entry = draft.entry
        attributes = json.dumps(entry.attributes, ensure_ascii=False)
        number = self._run(
            _ADD_ENTRY, (entry.id, entry.title, entry.caption, entry.kind, entry.text, attributes, entry.source)
        )
        chunks = zip(draft.chunks, draft.chunk_vectors, strict=True)
        for position, (text, vector) in enumerate(chunks):
            label = self._run(_ADD_CHUNK, (number, position, text, spaces[Kind.CHUNKS], _blob(vector)))
            _note(change, Kind.CHUNKS, label, number, vector)
        self._db.executemany(
            "INSERT OR IGNORE INTO picture_files (sha256, encoded) VALUES (?, ?)",
            zip(entry.picture_sha256, draft.pictures, strict=True),
        )
        pictures = zip(entry.picture_sha256, draft.picture_vectors, strict=True)
        for position, (sha256, vector) in enumerate(pictures):
            label = self._run(_ADD_PICTURE, (number, position, sha256, spaces[Kind.PICTURES], _blob(vector)))
            _note(change, Kind.PICTURES, label, number, vector)

    def _run(self, statement: str, values: tuple[object, ...]) -> int:
        """Insert a row; its number."""
        number = self._db.execute(statement, values).lastrowid
        assert number is not None
        return number

    def _count_up(self) -> None:
        self._db.execute("UPDATE meta SET value = value + 1 WHERE key = 'sequence'")


def settled(change: Change) -> Change:
    """The change without vectors that were added and removed again by the same commit."""
    for kind, added in change.added.items():
        gone = set(change.removed[kind]).intersection(added.labels)
        if not gone:
            continue
        kept = [index for index, label in enumerate(added.labels) if label not in gone]
        added.labels = [added.labels[index] for index in kept]
        added.entries = [added.entries[index] for index in kept]
        added.vectors = [added.vectors[index] for index in kept]
    return change


def _note(change: Change, kind: Kind, label: int, number: int, vector: Vector) -> None:
    added = change.added[kind]
    added.labels.append(label)
    added.entries.append(number)
    added.vectors.append(vector)


def _blob(vector: Vector) -> bytes:
    return vector.astype("<f4").tobytes()
