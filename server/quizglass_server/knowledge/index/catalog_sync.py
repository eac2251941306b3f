"""Keeps the catalog in step with the database: loaded from its snapshot, brought up to date, rebuilt, saved."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from quizglass_server.knowledge.content.chunks import passage
from quizglass_server.knowledge.content.records import Change, VectorKind
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.index.catalog import LIBRARY, Catalog
from quizglass_server.knowledge.index.snapshots import Record, Snapshot

_NAME = "catalog"
_DEAD_SHARE = 0.25  # of the words' chunks that are gone, from which the catalog is built anew
_SAVE_GROWTH = 1.25
_SMALL = 1_000  # chunks up to which neither matters

InOrder = Callable[[Callable[[], None]], None]
"""Runs something on the thread that writes, between two commits, and waits for it."""


class CatalogSync:
    """Owns the catalog that searches use."""

    def __init__(self, path: Path, record: Record, in_order: InOrder) -> None:
        """The database is the SQLite file at `path`."""
        self._path = path
        self._snapshot = Snapshot(path, _NAME, LIBRARY, record)
        self._in_order = in_order
        self._saved_size = 0
        self.catalog = Catalog()

    def load(self) -> None:
        """Fill the catalog from its snapshot if that is sound, else from the database alone."""
        with closing(DatabaseReader(self._path)) as reader:
            loaded = self._snapshot.load(reader, lambda path: Catalog(path.read_bytes()))
            if loaded is not None:
                self.catalog, self._saved_size = loaded, loaded.size
            catch_up(self.catalog, reader)

    def apply(self, change: Change) -> None:
        """Apply what a commit added and removed."""
        self.catalog.add_entries(change.filed)
        self.catalog.remove_entries(change.gone)
        self.catalog.add_passages(change.passages)

    def due(self, living: int) -> bool:
        """Whether the catalog should be built anew, given how many chunks there are."""
        return self.catalog.size > _SMALL and self.catalog.size - living > _DEAD_SHARE * self.catalog.size

    def rebuild(self) -> None:
        """Build it anew, while searches use the one before, and save: nothing deleted stays on the disk."""
        fresh = Catalog()
        with closing(DatabaseReader(self._path)) as reader:
            catch_up(fresh, reader)

        def swap() -> None:
            with closing(DatabaseReader(self._path)) as reader:
                catch_up(fresh, reader)
            self.catalog = fresh  # the one before goes with its last search

        self._in_order(swap)
        self._saved_size = -1
        self.save()
        if self._saved_size < 0:  # it could not be written: the one before holds what is gone
            self._snapshot.clear()

    def save_if_grown(self) -> None:
        """Save when much has been added or taken away since the snapshot."""
        size, saved = self.catalog.size, self._saved_size
        if size > _SMALL and (size > _SAVE_GROWTH * saved or size < saved):
            self.save()

    def save(self) -> None:
        """Write the snapshot if anything was added."""
        catalog = self.catalog
        if catalog.size != self._saved_size and self._snapshot.save(catalog.save):
            self._saved_size = catalog.size


def catch_up(catalog: Catalog, reader: DatabaseReader) -> None:
    """Bring a catalog up to the reader's commit: numbers and labels tell what it lacks."""
    stored, catalogued = set(reader.numbers()), catalog.entries()
    catalog.remove_entries(catalogued - stored)
    lacking = stored - catalogued
    if lacking:
        for batch in reader.filed(min(lacking) - 1):
            catalog.add_entries(filed for filed in batch if filed.number in lacking)
    for rows in reader.rows(VectorKind.CHUNKS, after=catalog.last):
        entries = reader.entries(list({row[1] for row in rows}))
        catalog.add_passages((row[0], passage(entries[row[1]].title, row[3])) for row in rows if row[1] in entries)
