"""Answers searches: nearest vectors and fitting words, filtered, ranked (`ranking.py`), read from the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from quizglass.values import Filter
from quizglass_server.domain.entries import ChunkHit, EntryHit, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge.content.records import Hit, VectorKind
from quizglass_server.knowledge.database.checksums import damaged
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.row_cache import RowCache
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.index.search_indexes import SearchIndexes
from quizglass_server.knowledge.search.ranking import (
    chunk_hits,
    first_of_each,
    fused,
    is_hybrid,
    pictured,
    pictures_wanted,
    texts_wanted,
    wider,
)

_FURTHER = 32  # times as many words' places are looked at then, which are ranked anyway
_ATTEMPTS = 10  # searches again when a hit was deleted between the index and the database


class Finder:
    """Answers searches on the thread of a reader."""

    def __init__(
        self, indexes: SearchIndexes, row_cache: RowCache, hidden: AbstractSet[int], settle: Callable[[], None]
    ) -> None:
        """`hidden` has the numbers of entries that are in the database and shall not be found.

        `settle` waits until the indexes have followed every commit so far.
        """
        self._indexes = indexes
        self._row_cache = row_cache
        self._hidden = hidden
        self._settle = settle

    def views(
        self, reader: DatabaseReader, queries: Sequence[Vector], limit: int, options: SearchOptions
    ) -> list[list[EntryHit]]:
        """For each vector, entries by their best picture, best first."""
        allowed = self._allowed(reader, options)
        found, wide = list[list[EntryHit]](), pictures_wanted(limit, options)
        while wide:
            search = partial(self._nearest_pictures, queries, wide, allowed)
            lists, rows = self._read(reader, VectorKind.PICTURES, search)
            found = [pictured(hits, rows, limit, options) for hits in lists]
            wide = wider(wide, limit, lists, found)
        return found

    def _nearest_pictures(
        self, queries: Sequence[Vector], wide: int, allowed: set[int] | None
    ) -> list[list[tuple[int, float]]]:
        index = self._indexes.vectors[VectorKind.PICTURES]
        return [index.search(query, wide, per_entry=True, allowed=allowed) for query in queries]

    def texts(
        self, reader: DatabaseReader, query: Vector | None, words: str, limit: int, options: SearchOptions
    ) -> list[ChunkHit]:
        """Chunks, best first; with `query` None or words empty by the other alone."""
        allowed = self._allowed(reader, options)
        if allowed is not None and not allowed:
            return []
        index = self._indexes.vectors.get(VectorKind.CHUNKS)
        hybrid = is_hybrid(words, options)
        wide = texts_wanted(limit, words, options)

        def search() -> list[list[tuple[int, float]]]:
            near: list[tuple[int, float]] = []
            if query is not None and index is not None:
                near = index.search(query, wide, per_entry=False, allowed=allowed)
            alone = options.per_entry and query is None
            order = fused(near, self._by_words(reader, words, wide, allowed, alone)) if hybrid else near
            if options.per_entry and index is not None:
                order = first_of_each(order, lambda hit: index.entry_of(hit[0]))
                if len(order) < limit and query is not None:  # chunks of the same entries took the places
                    others = index.search(query, limit, per_entry=True, allowed=allowed)
                    order = first_of_each([*order, *others], lambda hit: index.entry_of(hit[0]))
            return [order[:limit]]

        (order,), rows = self._read(reader, VectorKind.CHUNKS, search)
        if hybrid and query is not None and index is not None:  # what was found by words has no cosine yet
            cosines = index.cosines(query, [label for label, score in order if score != score])
            order = [(label, cosines.get(label, score)) for label, score in order]
        return chunk_hits(order, rows, query, words, limit, options)

    def _by_words(
        self, reader: DatabaseReader, words: str, wide: int, allowed: set[int] | None, per_entry: bool
    ) -> list[int]:
        """Labels of the chunks that fit best, best first; with `per_entry` only the best of each entry."""
        fetch = 2 * wide
        while True:
            labels = self._indexes.catalog.by_words(words, fetch)
            fitting = self._those_living(reader, labels, allowed, per_entry)
            if len(fitting) >= wide or len(labels) < fetch:
                return fitting[:wide]
            fetch *= _FURTHER  # what is gone or not allowed took the places

    def _those_living(
        self, reader: DatabaseReader, labels: Sequence[int], allowed: set[int] | None, per_entry: bool
    ) -> list[int]:
        index = self._indexes.vectors.get(VectorKind.CHUNKS)
        if index is not None:
            living = index.those_living(labels, allowed)
            return first_of_each(living, index.entry_of) if per_entry else living
        rows = self._rows(reader, VectorKind.CHUNKS, labels)  # without an encoder the database alone knows what is gone
        rows = {label: row for label, row in rows.items() if row.number not in self._hidden}
        there = [at for at in labels if at in rows and (allowed is None or rows[at].number in allowed)]
        return first_of_each(there, lambda at: rows[at].number) if per_entry else there

    def _allowed(self, reader: DatabaseReader, options: SearchOptions) -> set[int] | None:
        """Numbers of the entries that may be found; None: all."""
        matching = None if options.filter == Filter() else self._indexes.catalog.matching(options.filter)
        sets = [] if matching is None else [matching]
        sets += [reader.numbered(options.entries)] if options.entries else []
        sets += [self._indexes.catalog.titled(options.titles)] if options.titles else []
        if len(sets) > 1:
            return set.intersection(*sets)
        return sets[0] if sets else None

    def _read(
        self, reader: DatabaseReader, kind: VectorKind, search: Callable[[], list[list[tuple[int, float]]]]
    ) -> tuple[list[list[tuple[int, float]]], dict[int, Hit]]:
        """What a search found and the rows behind it; searched again when some of them have just been deleted."""
        for _ in range(_ATTEMPTS):
            lists = search()
            labels = {label: None for hits in lists for label, _ in hits}
            rows = self._rows(reader, kind, list(labels))
            if len(rows) == len(labels):
                return lists, rows
            self._settle()  # what was deleted in between leaves the index with its commit
        raise damaged(FILE, f"table {kind.value} lacks rows; it")

    def _rows(self, reader: DatabaseReader, kind: VectorKind, labels: Sequence[int]) -> dict[int, Hit]:
        """What each label that still exists stands for."""
        removals = self._row_cache.removals
        rows = self._row_cache.found(kind, labels)
        if len(rows) < len(labels):
            read = reader.hits(kind, [label for label in labels if label not in rows])
            self._row_cache.keep(kind, read, removals)
            rows |= read
        return rows
