"""How a search is answered: nearest vectors and fitting words, filtered, ranked (`ranking.py`), read from the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from quizglass_server.domain import Vector
from quizglass_server.entries import ChunkHit, EntryHit, Filter, Finding
from quizglass_server.knowledge.catalog import Catalog
from quizglass_server.knowledge.checks import damaged
from quizglass_server.knowledge.index import VectorIndex
from quizglass_server.knowledge.ranking import chunk_hits, fused, is_hybrid, pictured, pictures_wanted, texts_wanted
from quizglass_server.knowledge.reader import Reader
from quizglass_server.knowledge.records import Hit, Kind
from quizglass_server.knowledge.schema import FILE

_ATTEMPTS = 10  # searches again when a hit was deleted between the index and the truth


class Finder:
    """Answers searches on the thread of a reader."""

    def __init__(self, indexes: Mapping[Kind, VectorIndex], catalog: Catalog, settle: Callable[[], None]) -> None:
        """`settle` waits until the indexes have followed every commit so far."""
        self._indexes = indexes
        self._catalog = catalog
        self._settle = settle

    def views(self, reader: Reader, queries: Sequence[Vector], limit: int, finding: Finding) -> list[list[EntryHit]]:
        """For each vector, entries by their best picture, best first."""
        allowed = self._allowed(finding.filter)
        index = self._indexes[Kind.PICTURES]
        wide = pictures_wanted(limit, finding)

        def search() -> list[list[tuple[int, float]]]:
            return [index.search(query, wide, per_entry=True, allowed=allowed) for query in queries]

        lists, rows = self._read(reader, Kind.PICTURES, search)
        return [pictured(hits, rows, limit, finding) for hits in lists]

    def texts(self, reader: Reader, query: Vector | None, words: str, limit: int, finding: Finding) -> list[ChunkHit]:
        """Chunks, best first; with `query` None or words empty by the other alone."""
        allowed = self._allowed(finding.filter)
        index = self._indexes.get(Kind.CHUNKS)
        hybrid = is_hybrid(words, finding)
        wide = texts_wanted(limit, words, finding)

        def search() -> list[list[tuple[int, float]]]:
            near: list[tuple[int, float]] = []
            if query is not None and index is not None:
                near = index.search(query, wide, per_entry=False, allowed=allowed)
            order = fused(near, self._by_words(words, wide, allowed)) if hybrid else near
            return [(index.first_of_each(order) if finding.per_entry and index else order)[:limit]]

        (order,), rows = self._read(reader, Kind.CHUNKS, search)
        return chunk_hits(order, rows, query, words, limit, finding)

    def _by_words(self, words: str, wide: int, allowed: set[int] | None) -> list[int]:
        index = self._indexes.get(Kind.CHUNKS)
        labels = self._catalog.by_words(words, 2 * wide)
        return index.those_living(labels, allowed)[:wide] if index is not None else labels

    def _allowed(self, filter_: Filter) -> set[int] | None:
        return None if filter_ == Filter() else self._catalog.matching(filter_)

    def _read(
        self, reader: Reader, kind: Kind, search: Callable[[], list[list[tuple[int, float]]]]
    ) -> tuple[list[list[tuple[int, float]]], dict[int, Hit]]:
        """What a search found and the rows behind it; searched again when some of them have just been deleted."""
        for _ in range(_ATTEMPTS):
            lists = search()
            labels = {label: None for hits in lists for label, _ in hits}
            rows = reader.hits(kind, list(labels))
            if len(rows) == len(labels):
                return lists, rows
            self._settle()  # what was deleted in between leaves the index with its commit
        raise damaged(FILE, f"table {kind.value} lacks rows; it")
