"""Keeps an index's graph current, on a thread of its own, while searches go on; and its snapshot on disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from quizglass_server.knowledge.content.records import Labels, Matrix, VectorKind
from quizglass_server.knowledge.database.checksums import damaged
from quizglass_server.knowledge.database.disk import log_failure
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.index.graph import LIBRARY, Graph, Stopped
from quizglass_server.knowledge.index.index import VectorIndex
from quizglass_server.knowledge.index.snapshots import Record, Snapshot

logger = logging.getLogger(__name__)
_SAVE_GROWTH = 1.25  # a growing graph is saved when it is this much larger than its snapshot, and at close


class Indexer:
    """Builds, grows and saves the graph of one kind of vector. One thread at a time."""

    def __init__(self, kind: VectorKind, space: str, index: VectorIndex, path: Path, record: Record) -> None:
        """Look after `index`, whose vectors are in the SQLite file at `path`."""
        self.kind = kind
        self.index = index
        self._space = space
        self._path = path
        self._snapshot = Snapshot(path, kind.value, f"{space} {LIBRARY}", record)
        self._saved: Graph | None = None
        self._stop = threading.Event()

    def load(self) -> None:
        """Fill the index from the snapshot and the database. Without a snapshot everything is scanned until `run`."""
        with closing(DatabaseReader(self._path)) as reader:
            graph = self._snapshot.load(reader, lambda path: Graph.load(path, self.index.dimension))
            by_space = reader.labels(self.kind)
            nothing = np.empty((0, 2), np.int64)
            labels = by_space.get(self._space, nothing)[:, 0]
            every = np.concatenate([nothing, *by_space.values()])  # those of another space are found by their words
            self.index.fill(graph, every[:, 0], every[:, 1], self._outside(reader, graph, labels))
            self._saved = graph

    def run(self, *, idle: bool = False) -> None:
        """Do what is due, until nothing is or `stop` was called. Nothing that goes wrong here stops searches."""
        try:
            while (task := self.index.due(idle=idle)) and not self._stop.is_set():
                self._build() if task == "build" else self._grow()
                idle = False
            self._save_if_grown()
        except Stopped:
            logger.info("building the %s index was interrupted; it goes on at the next start", self.kind.value)
        except Exception as error:
            what = f"the {self.kind.value} index could not be brought up to date; searches scan instead"
            log_failure(logger, what, error)

    def rebuild(self) -> None:
        """Build anew whatever is due, and save: nothing of deleted vectors stays on the disk."""
        self._build()
        self._saved = None
        self.save()
        if self._saved is None:  # there are too few, or it could not be written: the one before holds deleted ones
            self._snapshot.clear()

    def stop(self) -> None:
        """Ask `run` to return soon."""
        self._stop.set()

    def save(self) -> None:
        """Write the snapshot if the graph is not the saved one."""
        graph = self.index.state.graph
        if graph is not None and graph is not self._saved and self._snapshot.save(graph.save):
            self._saved = graph

    def _save_if_grown(self) -> None:
        """Also where it has fewer vectors than its snapshot: it was built without deleted ones."""
        graph, saved = self.index.state.graph, len(self._saved.labels) if self._saved else 0
        if graph and not saved <= len(graph.labels) < _SAVE_GROWTH * saved:
            self.save()

    def _build(self) -> None:
        index = self.index
        indexed = index.labels()
        total = len(indexed)
        if not total or (index.state.graph is None and total < index.options.graph_from):
            index.publish(None)
            return
        logger.info("building the %s index of %d vectors", self.kind.value, total)
        with closing(DatabaseReader(self._path)) as reader:
            graph = Graph.build(index.dimension, total, self._living(reader, indexed), self._progress(total))
        index.publish(graph)
        logger.info("the %s index is built", self.kind.value)

    def _grow(self) -> None:
        state = self.index.state
        assert state.graph is not None
        labels = self.index.living(state.labels)
        vectors = state.vectors[np.isin(state.labels, labels, assume_unique=True)]
        total = len(state.graph.labels) + len(labels)
        self.index.publish(state.graph.grown(labels, vectors, self._progress(total)))

    def _living(self, reader: DatabaseReader, indexed: Labels) -> Iterator[tuple[Labels, Matrix]]:
        """Vectors that the index knew when the building began; later ones are in its scan."""
        for labels, vectors in reader.vectors(self.kind, self._space, self.index.dimension):
            wanted = np.isin(labels, indexed, assume_unique=True)
            yield labels[wanted], vectors[wanted]
            if labels[-1] >= indexed[-1]:
                return

    def _progress(self, total: int) -> Callable[[int], None]:
        tenth = max(total // 10, 10_000)
        reported = 0

        def step(done: int) -> None:
            nonlocal reported
            if self._stop.is_set():
                raise Stopped
            if done // tenth > reported:
                reported = done // tenth
                logger.info("%s index: %d of %d vectors", self.kind.value, done, total)

        return step

    def _outside(self, reader: DatabaseReader, graph: Graph | None, labels: Labels) -> tuple[Labels, Matrix]:
        """Vectors that the graph does not hold. Labels ascend, so they are at the end.

        Raises:
            KnowledgeFailed: the table lacks rows that its index has.
        """
        missing = np.setdiff1d(labels, graph.labels, assume_unique=True) if graph else labels
        kept = [(missing[:0], np.empty((0, self.index.dimension), np.float32))]
        if not len(missing):
            return kept[0]
        after = int(missing[0]) - 1
        for batch, matrix in reader.vectors(self.kind, self._space, self.index.dimension, after=after):
            new = np.isin(batch, missing, assume_unique=True)
            kept.append((batch[new], matrix[new]))
        there = np.concatenate([batch for batch, _ in kept])
        if len(there) < len(missing):
            raise damaged(self._path.name, f"table {self.kind.value} lacks rows; it")
        return there, np.concatenate([matrix for _, matrix in kept])
