"""Index snapshots on disk: written so that a crash leaves the old or the new one, read only when proven intact.

The proof is in the database: its table `graphs` holds the SHA-256 of the one file that belongs to it, the space and the
sequence number. A file that was damaged, cut, swapped with another, left over by a crash or kept beside a database
restored from a copy has another hash and is not loaded.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import GraphRecord
from quizglass_server.knowledge.database.disk import meaning
from quizglass_server.knowledge.index.graph import LIBRARY

_log = logging.getLogger(__name__)
_SUFFIX = ".index"
FOLDER = "graphs"

Loaded = TypeVar("Loaded")


def graph_space(space: str) -> str:
    """Space of a graph: that of its vectors, and how it was built."""
    return f"{space} {LIBRARY}"


class Snapshots:
    """The folder of the index snapshots of one knowledge directory."""

    def __init__(self, directory: Path) -> None:
        """Use `graphs/` in the knowledge directory, creating it. Raises KnowledgeFailed."""
        self._folder = directory / FOLDER
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise KnowledgeFailed(f"{self._folder}: cannot be created: {meaning(error)}") from error

    def load(self, name: str, record: GraphRecord | None, space: str, read: Callable[[Path], Loaded]) -> Loaded | None:
        """What belongs to the database, or None, with the reason in the log: then it has to be built.

        `read` is called when the file's hash is the recorded one; it may raise KnowledgeFailed.
        """
        if record is None:
            return None
        path = self._folder / Path(record.file).name
        try:
            if record.space != space:
                reason = "it was built otherwise, or of the vectors of another encoder"
            elif file_sha256(path) != record.sha256:
                reason = "its SHA-256 is not the recorded one"
            else:
                return read(path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        except KnowledgeFailed as error:
            reason = error.message
        _log.warning("index snapshot %s of %s is not used: %s; building from the entries", path, name, reason)
        return None

    def save(self, name: str, write: Callable[[Path], None], space: str, sequence: int) -> GraphRecord:
        """Write what `write` writes; on return the file is on disk under its final name.

        Raises:
            OSError, RuntimeError: it could not be written. The snapshot before is untouched.
        """
        temporary = self._folder / f"{name}.partial"
        write(temporary)
        digest = file_sha256(temporary)
        path = self._folder / f"{name}-{sequence}-{digest[:12]}{_SUFFIX}"
        sync(temporary)
        temporary.replace(path)
        sync(self._folder)
        return GraphRecord(path.name, digest, space, sequence)

    def clear_except(self, name: str, record: GraphRecord | None) -> None:
        """Remove what earlier snapshots of this name and interrupted writes have left."""
        for path in self._folder.glob(f"{name}[-.]*"):
            if record is None or path.name != record.file:
                path.unlink(missing_ok=True)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Wait until a file or a directory is on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
