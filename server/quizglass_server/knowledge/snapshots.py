"""Index snapshots on disk: written so that a crash leaves the old or the new one, read only when proven intact.

The proof is in the truth: its table `graphs` holds the SHA-256 of the one file that belongs to it, with the space and
the sequence number. A file that was damaged, cut, swapped with another, left over by a crash or kept beside a truth
restored from a copy has another hash and is not loaded.
"""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.graph import LIBRARY, Graph
from quizglass_server.knowledge.records import GraphRecord, Kind

_log = logging.getLogger(__name__)
_SUFFIX = ".hnsw"
FOLDER = "graphs"


def graph_space(space: str) -> str:
    """Space of a graph: that of its vectors, and how it was built."""
    return f"{space} {LIBRARY}"


class Snapshots:
    """The folder of the index snapshots of one knowledge directory."""

    def __init__(self, directory: Path) -> None:
        """Use `graphs/` in the knowledge directory, creating it. Raises KnowledgeFailed."""
        self._folder = directory / FOLDER
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise KnowledgeFailed(f"{self._folder}: cannot be created ({error.strerror})") from error

    def load(self, kind: Kind, record: GraphRecord | None, space: str, dimension: int) -> Graph | None:
        """The graph that belongs to the truth, or None, with the reason in the log: then it has to be built."""
        if record is None:
            return None
        path = self._folder / record.file
        try:
            if record.space != graph_space(space):
                reason = "it holds vectors of another encoder or was built otherwise"
            elif file_sha256(path) != record.sha256:
                reason = "its SHA-256 is not the recorded one"
            else:
                return Graph.load(path, dimension)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        except KnowledgeFailed as error:
            reason = error.message
        _log.warning("index snapshot %s of %s is not used: %s; building from the entries", path, kind.value, reason)
        return None

    def save(self, kind: Kind, graph: Graph, space: str, sequence: int) -> GraphRecord:
        """Write a graph; on return the file is on disk under its final name.

        Raises:
            OSError, RuntimeError: it could not be written. The snapshot before is untouched.
        """
        temporary = self._folder / f"{kind.value}.partial"
        graph.save(temporary)
        digest = file_sha256(temporary)
        path = self._folder / f"{kind.value}-{sequence}-{digest[:12]}{_SUFFIX}"
        sync(temporary)
        temporary.replace(path)
        sync(self._folder)
        return GraphRecord(path.name, digest, graph_space(space), sequence)

    def clear_except(self, kind: Kind, record: GraphRecord | None) -> None:
        """Remove what earlier snapshots of this kind and interrupted writes have left."""
        for path in self._folder.glob(f"{kind.value}[-.]*"):
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
