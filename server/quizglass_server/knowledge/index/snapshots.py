"""Index snapshots on disk: written so that a crash leaves the old or the new one, read only when proven intact.

The proof is in the database: its table `graphs` holds the SHA-256 of the one file that belongs to it, the space and the
sequence number. A file that was damaged, cut, swapped with another, left over by a crash or kept beside a database
restored from a copy has another hash and is not loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from quizglass_bundle.hashes import file_sha256
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import GraphRecord
from quizglass_server.knowledge.database.disk import failed, log_failure, sync
from quizglass_server.knowledge.database.reader import DatabaseReader

logger = logging.getLogger(__name__)
_SUFFIX = ".index"
FOLDER = "graphs"

Loaded = TypeVar("Loaded")
Record = Callable[[str, GraphRecord], None]
"""Writes a record to the database, durably."""


class Snapshot:
    """The snapshot on disk of one index of a knowledge directory."""

    def __init__(self, database: Path, name: str, space: str, record: Record) -> None:
        """Use `graphs/` beside the database, creating it.

        Args:
            database: the SQLite file that the index is derived from.
            name: of the index.
            space: what it is made of and how; a snapshot of another one is not read.
            record: tells the database which file belongs to it.

        Raises:
            KnowledgeFailed: the folder cannot be made.
        """
        self._database = database
        self._folder = database.parent / FOLDER
        self._name = name
        self._space = space
        self._record = record
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise failed(f"{self._folder}: cannot be created", error) from error

    def load(self, reader: DatabaseReader, read: Callable[[Path], Loaded]) -> Loaded | None:
        """What belongs to the database, or None, with the reason in the log: then it has to be built.

        `read` is called when the file's hash is the recorded one; it may raise KnowledgeFailed.
        """
        record = reader.graph(self._name)
        loaded = None if record is None else self._loaded(record, read)
        self.clear(but=None if loaded is None else record)
        return loaded

    def save(self, write: Callable[[Path], None]) -> bool:
        """Put what `write` writes in the place of the one before; whether that worked.

        Failing costs a rebuild at the next start, so it is only logged.
        """
        try:
            with closing(DatabaseReader(self._database)) as reader:
                before, sequence = reader.graph(self._name), reader.state().sequence
            self._replace(before, sequence, write)
        except Exception as error:
            log_failure(logger, f"the snapshot of the {self._name} index could not be written", error)
            return False
        return True

    def clear(self, *, but: GraphRecord | None = None) -> None:
        """Remove what earlier snapshots of this index and interrupted writes have left."""
        for path in self._folder.glob(f"{self._name}[-.]*"):
            if but is None or path.name != but.file:
                path.unlink(missing_ok=True)

    def _loaded(self, record: GraphRecord, read: Callable[[Path], Loaded]) -> Loaded | None:
        path = self._folder / record.file
        try:
            if record.space != self._space:
                reason = "it was built otherwise, or of the vectors of another encoder"
            elif file_sha256(path) != record.sha256:
                reason = "its SHA-256 is not the recorded one"
            else:
                return read(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        except KnowledgeFailed as error:
            reason = error.message
        logger.warning("index snapshot %s of %s is not used: %s; building from the entries", path, self._name, reason)
        return None

    def _replace(self, before: GraphRecord | None, sequence: int, write: Callable[[Path], None]) -> None:
        """Of a snapshot that cannot be written nothing stays: on a full disk it would take the database's last room."""
        kept = before
        try:
            written = self._written(write, sequence)
            self._record(self._name, written)
            kept = written
        finally:
            self.clear(but=kept)

    def _written(self, write: Callable[[Path], None], sequence: int) -> GraphRecord:
        """On return the file is on disk under its final name. Until then the one before is untouched."""
        temporary = self._folder / f"{self._name}.partial"
        write(temporary)
        digest = file_sha256(temporary)
        path = self._folder / f"{self._name}-{sequence}-{digest[:12]}{_SUFFIX}"
        sync(temporary)
        temporary.replace(path)
        sync(self._folder)
        return GraphRecord(path.name, digest, self._space, sequence)
