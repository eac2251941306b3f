"""The indexes of a store: two of vectors and the catalog of words, brought up to date after each commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.knowledge.content.records import Change, GraphRecord, VectorKind
from quizglass_server.knowledge.database.disk import log_failure
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.database.threads import StoreThreads
from quizglass_server.knowledge.index.catalog import Catalog
from quizglass_server.knowledge.index.catalog_sync import CatalogSync
from quizglass_server.knowledge.index.index import IndexOptions, VectorIndex
from quizglass_server.knowledge.index.indexer import Indexer
from quizglass_server.knowledge.index.snapshots import Snapshot
from quizglass_server.scheduling.cores import give_way

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Space:
    """What makes the vectors of one kind: vectors of different spaces do not compare."""

    name: str
    dimension: int


class SearchIndexes:
    """The indexes of one knowledge directory and the thread that looks after them."""

    def __init__(
        self, directory: Path, store: StoreThreads, spaces: Mapping[VectorKind, Space], options: IndexOptions
    ) -> None:
        """Load what is sound of the snapshots and the rest from the database. Blocks. Raises KnowledgeFailed."""
        self._store = store
        self._thread = ThreadPoolExecutor(1, "knowledge-build", initializer=give_way)
        self.job: Future[None] | None = None
        """The build or save that is running, or the last one."""
        self._stopped = False
        self._path = path = directory / FILE
        self._catalog_sync = CatalogSync(path, self._record, self._in_order)
        self._indexers = {
            kind: Indexer(kind, space.name, VectorIndex(space.dimension, options), path, self._record)
            for kind, space in spaces.items()
        }
        self.vectors = {kind: indexer.index for kind, indexer in self._indexers.items()}
        """The vector indexes of the kinds that have an encoder."""
        self._catalog_sync.load()
        for indexer in self._indexers.values():
            indexer.load()

    @property
    def catalog(self) -> Catalog:
        """The catalog in use now."""
        return self._catalog_sync.catalog

    def follow(self, change: Change) -> None:
        """Bring the indexes up to date with a commit. To be called in the order of commits."""
        for kind, index in self.vectors.items():
            index.apply(change.added[kind], change.removed[kind])
        self._catalog_sync.apply(change)

    def look_after(self, *, idle: bool = False) -> None:
        """Start building and saving on the thread if any is due and none is running. `idle`: no write is under way."""
        free = self.job is None or self.job.done()
        if free and not self._stopped and self._due(idle):
            self.job = self._thread.submit(self._run, idle)

    def rebuild(self) -> Future[None]:
        """Build everything anew, so that nothing deleted stays in it."""
        return self._thread.submit(self._rebuild)

    def close(self) -> None:
        """Stop building and save. Blocks."""
        self._stopped = True
        for indexer in self._indexers.values():
            indexer.stop()
        self._thread.shutdown()
        for indexer in self._indexers.values():
            indexer.save()
        self._catalog_sync.save()

    def _due(self, idle: bool) -> bool:
        return any(index.due(idle=idle) for index in self.vectors.values()) or self._catalog_due()

    def _catalog_due(self) -> bool:
        chunks = self.vectors.get(VectorKind.CHUNKS)
        return chunks is not None and self._catalog_sync.due(len(chunks))

    def _run(self, idle: bool) -> None:
        for indexer in self._indexers.values():
            indexer.run(idle=idle)
        try:
            if self._catalog_due():
                self._catalog_sync.rebuild()
            self._catalog_sync.save_if_grown()
        except Exception as error:
            log_failure(logger, "the catalog could not be built anew; the one before goes on", error)

    def _rebuild(self) -> None:
        for indexer in self._indexers.values():
            indexer.rebuild()
        for kind in VectorKind:
            if kind not in self._indexers:  # without its encoder it cannot be built, and it holds deleted vectors
                Snapshot(self._path, kind.value, "", self._record).clear()
        self._catalog_sync.rebuild()

    def _record(self, name: str, record: GraphRecord) -> None:
        self._store.write_and_wait(lambda writer: writer.record_graph(name, record))

    def _in_order(self, action: Callable[[], None]) -> None:
        self._store.write_and_wait(lambda _: action())
