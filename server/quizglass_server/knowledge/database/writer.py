"""Writing the database. When `run` returns, its jobs' changes are on disk; when it raises, nothing of them happened."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizglass.values import Entry
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.chunks import passage
from quizglass_server.knowledge.content.records import (
    Change,
    EntryDraft,
    Filed,
    GraphRecord,
    Hit,
    VectorKind,
    entry_of,
    no_entry,
)
from quizglass_server.knowledge.database import checksums as checks
from quizglass_server.knowledge.database.checksums import StoreState, label_digest, labels_of, row_digest
from quizglass_server.knowledge.database.clean_shutdown import CleanShutdownFlag, ShutdownRecord
from quizglass_server.knowledge.database.known import is_as_stored
from quizglass_server.knowledge.database.reader import UNUSABLE
from quizglass_server.knowledge.database.schema import (
    CHUNK_COLUMNS,
    ENTRY_COLUMNS,
    PICTURE_COLUMNS,
    connect,
    explained,
    has_log,
)
from quizglass_server.knowledge.database.slack import overwrite_slack
from quizglass_server.steady_clock import Clock

logger = logging.getLogger(__name__)

_VECTOR_ROWS = {
    VectorKind.PICTURES: "SELECT label, space, digest FROM pictures WHERE entry = ?",
    VectorKind.CHUNKS: "SELECT label, space, digest FROM chunks WHERE entry = ?",
}
_ADD_ENTRY = f"INSERT INTO entries ({ENTRY_COLUMNS}, digest) VALUES ({', '.join('?' * 14)})"  # noqa: S608  # our own names
_ADD_CHUNK = f"INSERT INTO chunks ({CHUNK_COLUMNS}, digest) VALUES ({', '.join('?' * 8)})"  # noqa: S608
_ADD_PICTURE = f"INSERT INTO pictures ({PICTURE_COLUMNS}, digest) VALUES ({', '.join('?' * 8)})"  # noqa: S608
_LIVING = f"SELECT {ENTRY_COLUMNS} FROM entries WHERE id = ? AND (expires = 0 OR expires > ?)"  # noqa: S608

Job = Callable[["DatabaseWriter"], Any]


@dataclass(slots=True)
class Rechunked:
    """An entry, by number, with its new chunks and their vectors."""

    number: int
    title: str
    chunks: Sequence[str]
    vectors: list[Vector] = field(default_factory=list)


class DatabaseWriter:
    """The one connection that writes; for one thread at a time. Changes are made by jobs that `run` is given."""

    def __init__(self, path: Path, clock: Clock = time.time) -> None:
        """Open, creating the tables in a new file. Raises KnowledgeFailed."""
        self._file = path
        self._clock = clock
        self._raw: int | None = None
        self._db = connect(path, write=True)
        try:
            with explained(self._file):
                self._state = StoreState.load(self._db, self._file.name)
                self._written = self._last_written()
            self._flag: CleanShutdownFlag | None = _flag(path.parent)
            self._mark(closed=False)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Move the write-ahead log into the file and close."""
        self._db.close()
        if self._raw is not None:  # not before: closing a file gives up the locks that SQLite has on it
            os.close(self._raw)
            self._raw = None
        self._mark(closed=True)
        if self._flag is not None:
            self._flag.close()

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Run jobs in one commit; what each returned, or the exception that undid that one alone.

        Raises:
            KnowledgeFailed: the commit failed, and with it every job.
        """
        before, written = self._state.copy(), self._written
        try:
            with explained(self._file):
                self._db.execute("BEGIN IMMEDIATE")
                self._check_alone()
                outcomes = [self._attempt(job) for job in jobs]
                if self._state != before:
                    self._state.clock = max(before.clock, int(self._clock()))
                    written = self._state.save(self._db)
                self._db.execute("COMMIT")
        except BaseException:
            self._state = before
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._written = written
        if self._state != before:
            self._mark(closed=False)
        return outcomes

    def put(self, drafts: Iterable[EntryDraft], spaces: Mapping[VectorKind, str]) -> Change:
        """Add or replace entries, each as it comes. Of two of the same id the later stays.

        What is there just so is not written again: neither the disk nor the indexes have work with it.
        """
        change = Change()
        for draft in drafts:
            if is_as_stored(self._db, self._state.key, draft, spaces):
                change.replaced.unchanged += 1
                continue
            change.replaced.note(self._living(draft.entry.id), draft.entry)
            self._remove(draft.entry.id, change)
            self._insert(draft, spaces, change)
        self._state.sequence += bool(change.filed)
        return settled(change)

    def delete(self, entry_ids: Sequence[str], *, strict: bool = True) -> Change:
        """Delete entries with their chunks, and their pictures unless others show them. Raises NotFound if `strict`."""
        change = Change()
        for entry_id in entry_ids:
            if not self._remove(entry_id, change) and strict:
                raise no_entry(entry_id)
        self._state.sequence += 1
        change.sequence = self._state.sequence
        return change

    def expire(self, now: float) -> Change:
        """Delete the entries whose time has come."""
        rows = self._db.execute("SELECT id FROM entries WHERE expires > 0 AND expires <= ?", (int(now),)).fetchall()
        return self.delete([entry_id for (entry_id,) in rows]) if rows else Change()

    def expired(self, now: float) -> Change:
        """What `expire` would remove, for indexes to leave it out while it cannot be; outside of `run`."""
        change = Change()
        with explained(self._file):
            selected = "SELECT number FROM entries WHERE expires > 0 AND expires <= ?"
            change.gone = [number for (number,) in self._db.execute(selected, (int(now),))]
            change.entries = -len(change.gone)
            for kind in VectorKind:
                for number in change.gone:
                    rows = self._db.execute(_VECTOR_ROWS[kind], (number,))
                    change.removed[kind] += [label for label, _, _ in rows]
        return change

    def replace_chunks(self, rechunked: Sequence[Rechunked], space: str) -> Change:
        """Give entries other chunks, with vectors of another space. Entries that are gone are passed over."""
        change = Change()
        for entry in rechunked:
            if self._db.execute("SELECT 1 FROM entries WHERE number = ?", (entry.number,)).fetchone() is None:
                continue
            change.removed[VectorKind.CHUNKS] += self._remove_vectors(VectorKind.CHUNKS, entry.number)
            for position, (text, vector) in enumerate(zip(entry.chunks, entry.vectors, strict=True)):
                label = self._add_chunk(entry.number, position, text, space, vector, len(entry.chunks))
                change.note(VectorKind.CHUNKS, label, entry.number, vector)
                change.passages.append((label, passage(entry.title, text)))
        return change

    def replace_picture_vectors(self, vectors: dict[int, Vector | None], space: str) -> Change:
        """Give pictures, by label, vectors of another space under new labels; None: it could not be made."""
        change = Change()
        for label, vector in vectors.items():
            selected = "DELETE FROM pictures WHERE label = ? RETURNING entry, position, sha256, look, space, digest"
            for entry, position, sha256, perceptual_hash, old, digest in self._db.execute(
                selected, (label,)
            ).fetchall():
                self._state.remove("pictures", digest)
                self._state.remove(labels_of(VectorKind.PICTURES, old), label_digest(label, entry))
                change.removed[VectorKind.PICTURES].append(label)
                stored = (space, _blob(vector)) if vector is not None else (UNUSABLE + space, b"")
                fresh = self._add_picture(entry, position, sha256, *stored, perceptual_hash)
                if vector is not None:
                    change.note(VectorKind.PICTURES, fresh, entry, vector)
        return change

    def keep_time(self) -> None:
        """Have the store remember the time by now: as late as it is when it is next opened, at the least."""
        self._state.clock = max(self._state.clock, int(self._clock()))

    def record_graph(self, name: str, graph: GraphRecord) -> None:
        """Say which index snapshot belongs to this database."""
        self._db.execute(
            "INSERT OR REPLACE INTO graphs (kind, file, sha256, space, sequence) VALUES (?, ?, ?, ?, ?)",
            (name, graph.file, graph.sha256, graph.space, graph.sequence),
        )

    def continue_store(self, state: StoreState) -> None:
        """Go on as another file did: under its name, sequence and time. For a file that takes the other's place."""
        self._state.store, self._state.sequence, self._state.clock = state.store, state.sequence, state.clock

    def shrink(self) -> None:
        """Give deleted pages back to the disk, empty the write-ahead log, and overwrite what rows that have moved left
        behind. Outside of `run`.
        """
        with explained(self._file):
            self._db.execute("PRAGMA incremental_vacuum").fetchall()
            busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            busy = busy or not self._overwrite_slack()
        if busy:
            raise KnowledgeFailed(f"{self._file.name}: its log is being read, perhaps by a snapshot; try again later")

    def _overwrite_slack(self) -> bool:
        """Whether it could be done: not while there is something in the log again."""
        if self._raw is None:
            self._raw = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
        self._db.execute("BEGIN IMMEDIATE")  # nothing is written meanwhile
        try:
            if has_log(self._file):
                return False
            overwrite_slack(self._raw)
        finally:
            self._db.execute("ROLLBACK")
        self._db.execute("PRAGMA shrink_memory")  # pages in memory would be written with what they had
        return True

    def _last_written(self) -> int:
        """Digest of the state that was committed last."""
        row = self._db.execute("SELECT digest FROM state WHERE one = 1").fetchone()
        return int(row[0])

    def _check_alone(self) -> None:
        """Refuse to go on from a state that is not the file's: the checksums of the other's rows would be lost."""
        if self._last_written() != self._written:
            raise KnowledgeFailed(
                f"{self._file.name}: another process has written it since; nothing more is written. Stop both servers, "
                "run `quizglass knowledge verify` on the directory, and start one of them",
                file=self._file.name,
            )

    def _attempt(self, job: Job) -> Any:
        """Run one job of several, so that its failure undoes it alone."""
        before = self._state.copy()
        self._db.execute("SAVEPOINT job")
        try:
            with explained(self._file):
                outcome = job(self)
        except Exception as error:
            if not self._db.in_transaction:  # the disk is full, say: SQLite has undone everything
                raise
            self._db.execute("ROLLBACK TO job")
            self._state = before
            outcome = error
        self._db.execute("RELEASE job")
        return outcome

    def _living(self, entry_id: str) -> Entry | None:
        """The entry of an id; None: there is none that has not expired, or what it holds is damaged."""
        now = self._clock()
        row = self._db.execute(_LIVING, (entry_id, int(now))).fetchone()
        try:
            return None if row is None else entry_of(row, now)
        except (ValueError, TypeError, AttributeError):
            return None

    def _remove(self, entry_id: str, change: Change) -> bool:
        """Remove an entry if it exists, noting what goes; whether it existed."""
        row = self._db.execute("SELECT number, digest FROM entries WHERE id = ?", (entry_id,)).fetchone()
        if row is None:
            return False
        number, digest = row
        for kind in VectorKind:
            change.removed[kind].extend(self._remove_vectors(kind, number, keep=True))
        hashes = self._db.execute("SELECT sha256 FROM pictures WHERE entry = ?", (number,)).fetchall()
        self._db.execute("DELETE FROM entries WHERE number = ?", (number,))
        for (sha256,) in {*hashes}:
            shown = self._db.execute("SELECT 1 FROM pictures WHERE sha256 = ? LIMIT 1", (sha256,)).fetchone()
            if shown is None and self._db.execute("DELETE FROM picture_files WHERE sha256 = ?", (sha256,)).rowcount:
                self._state.remove("picture_files", checks.picture_digest(sha256))
        self._state.remove("entries", digest)
        self._state.remove("ids", checks.id_digest(number, entry_id))
        self._state.count -= 1
        change.entries -= 1
        change.gone.append(number)
        return True

    def _remove_vectors(self, kind: VectorKind, number: int, *, keep: bool = False) -> list[int]:
        """Labels of an entry's vectors; their rows go now, or (`keep`) with the entry's own row."""
        rows = self._db.execute(_VECTOR_ROWS[kind], (number,)).fetchall()
        for label, space, digest in rows:
            self._state.remove(kind.value, digest)
            self._state.remove(labels_of(kind, space), label_digest(label, number))
        if not keep:
            self._db.execute(f"DELETE FROM {kind.value} WHERE entry = ?", (number,))  # noqa: S608  # our own name
        return [label for label, _, _ in rows]

    def _insert(self, draft: EntryDraft, spaces: Mapping[VectorKind, str], change: Change) -> None:
        number, expires = self._add_entry(draft)
        filed = Filed(number, draft.entry, expires)
        chunks = zip(draft.chunks, draft.chunk_vectors, strict=True)
        for position, (text, vector) in enumerate(chunks):
            label = self._add_chunk(number, position, text, spaces[VectorKind.CHUNKS], vector, len(draft.chunks))
            change.note(VectorKind.CHUNKS, label, number, vector)
            change.passages.append((label, passage(draft.entry.title, text)))
            change.rows[VectorKind.CHUNKS][label] = Hit(number, draft.entry, text, 0)
        for sha256, encoded in zip(draft.entry.picture_sha256, draft.pictures, strict=True):
            adding = "INSERT OR IGNORE INTO picture_files (sha256, encoded) VALUES (?, ?)"
            if self._db.execute(adding, (sha256, encoded)).rowcount:
                self._state.add("picture_files", checks.picture_digest(sha256))
        pictures = zip(draft.entry.picture_sha256, draft.picture_vectors, draft.perceptual_hashes, strict=True)
        for position, (sha256, vector, perceptual_hash) in enumerate(pictures):
            label = self._add_picture(
                number, position, sha256, spaces[VectorKind.PICTURES], _blob(vector), perceptual_hash
            )
            change.note(VectorKind.PICTURES, label, number, vector)
            change.rows[VectorKind.PICTURES][label] = Hit(number, draft.entry, "", perceptual_hash)
        self._state.count += 1
        change.entries += 1
        change.filed.append(filed)

    def _add_entry(self, draft: EntryDraft) -> tuple[int, int]:
        entry = draft.entry
        number = self._state.next("entries")
        expires = int(self._clock()) + entry.expires_after if entry.expires_after else 0
        attributes = json.dumps(entry.attributes, ensure_ascii=False)
        texts = (entry.id, entry.title, entry.caption, entry.kind, entry.text, attributes, entry.source)
        row = (number, *texts, entry.language, entry.text_format, entry.time, expires, b"".join(entry.picture_sha256))
        digest = row_digest(row, self._state.key)
        self._db.execute(_ADD_ENTRY, (*row, digest))
        self._state.add("entries", digest)
        self._state.add("ids", checks.id_digest(number, entry.id))
        return number, expires

    def _add_chunk(self, number: int, position: int, text: str, space: str, vector: Vector, total: int) -> int:
        label = self._state.next("chunks")
        self._add_row(VectorKind.CHUNKS, _ADD_CHUNK, (label, number, position, text, space, _blob(vector), total))
        return label

    def _add_picture(
        self, number: int, position: int, sha256: bytes, space: str, blob: bytes, perceptual_hash: int
    ) -> int:
        label = self._state.next("pictures")
        self._add_row(
            VectorKind.PICTURES, _ADD_PICTURE, (label, number, position, sha256, space, blob, perceptual_hash)
        )
        return label

    def _add_row(self, kind: VectorKind, statement: str, row: tuple[Any, ...]) -> None:
        digest = row_digest(row, self._state.key)
        self._db.execute(statement, (*row, digest))
        self._state.add(kind.value, digest)
        self._state.add(labels_of(kind, row[4]), label_digest(row[0], row[1]))

    def _mark(self, *, closed: bool) -> None:
        if self._flag is None:
            return
        try:
            self._flag.write(ShutdownRecord(self._state.store, self._state.sequence, closed))
        except OSError as error:
            logger.warning("the marker beside the knowledge store could not be written: %s", error.strerror)


def settled(change: Change) -> Change:
    """The change without what was added and removed again by the same commit."""
    for kind, added in change.added.items():
        gone = set(change.removed[kind]).intersection(added.labels)
        if not gone:
            continue
        kept = [index for index, label in enumerate(added.labels) if label not in gone]
        added.labels = [added.labels[index] for index in kept]
        added.entries = [added.entries[index] for index in kept]
        added.vectors = [added.vectors[index] for index in kept]
        change.rows[kind] = {label: row for label, row in change.rows[kind].items() if label not in gone}
    replaced, gone_entries = set(change.removed[VectorKind.CHUNKS]), set(change.gone)
    change.passages = [(label, words) for label, words in change.passages if label not in replaced]
    change.filed = [filed for filed in change.filed if filed.number not in gone_entries]
    return change


def _flag(directory: Path) -> CleanShutdownFlag | None:
    try:
        return CleanShutdownFlag(directory)
    except OSError as error:
        logger.warning("the marker beside the knowledge store cannot be opened: %s", error.strerror)
        return None


def _blob(vector: Vector) -> bytes:
    return vector.astype("<f4").tobytes()
