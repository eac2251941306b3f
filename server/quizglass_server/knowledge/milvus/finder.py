"""How a search is answered from Milvus. How results are ranked is common to all backends (`ranking.py`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_server.domain.entries import ChunkHit, EntryHit, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge.content.records import Hit, VectorKind
from quizglass_server.knowledge.content.spacing import spaced
from quizglass_server.knowledge.milvus.rows import OUTPUT, alive, every, of_entries, passing, titled, vector_of
from quizglass_server.knowledge.milvus.store import MilvusStore
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
from quizglass_server.steady_clock import Clock

_MOST = 16_384  # results of one search of Milvus
_ENOUGH = 1_000  # chunks that are looked at for one of each entry
_WIDER = 4
_GONE = (0, None)
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class _Found:
    """What one query found: rows in order, of entries that there are."""

    hits: list[tuple[str, float]]
    """Keys and scores, best first."""
    stale: int
    """Rows that were left out, because their entry has been replaced or deleted."""
    complete: bool
    """Whether there is no more to find."""


class MilvusFinder:
    """Answers searches; for any number of threads."""

    def __init__(self, store: MilvusStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def views(self, queries: Sequence[Vector], limit: int, options: SearchOptions) -> list[list[EntryHit]]:
        """For each vector, entries by their best picture, best first."""
        wanted = pictures_wanted(limit, options)
        fetch = 2 * wanted + 8
        while True:
            rows: dict[str, Hit] = {}
            answers = self._found(VectorKind.PICTURES, queries, "vector", fetch, options, rows)
            lists = [_first_of_entries(each.hits, rows)[:wanted] for each in answers]
            short = any(len(hits) < wanted and not each.complete for hits, each in zip(lists, answers, strict=True))
            if short and fetch < _MOST:
                fetch = min(_MOST, fetch * _WIDER)  # several pictures of the same entries took the places
                continue
            found = [pictured(hits, rows, limit, options) for hits in lists]
            wanted = wider(wanted, limit, lists, found)
            if not wanted or fetch == _MOST:
                return found
            fetch = min(_MOST, 2 * wanted + 8)

    def texts(self, query: Vector | None, words: str, limit: int, options: SearchOptions) -> list[ChunkHit]:
        """Chunks, best first; with `query` None or words empty by the other alone."""
        asked = spaced(words)
        hybrid = is_hybrid(words, options) and _WORD.search(asked) is not None
        if asked != words:
            asked = f"{asked} {words}"  # rows that an earlier version wrote have runs of unspaced scripts whole
        fetch = texts_wanted(limit, words, options)
        while True:
            rows: dict[str, Hit] = {}
            answers = (
                self._found(VectorKind.CHUNKS, [query], "vector", fetch, options, rows) if query is not None else []
            )
            near = answers[0].hits if answers else []
            if hybrid:
                answers += self._found(VectorKind.CHUNKS, [asked], "words", fetch, options, rows)
            order = fused(near, [key for key, _ in answers[-1].hits]) if hybrid else near
            order = _first_of_entries(order, rows) if options.per_entry else order
            # Chunks of the same entries took the places; of rows with their vectors there is an end.
            short = options.per_entry and len(order) < limit and fetch < _ENOUGH
            if not any((each.stale or short) and not each.complete for each in answers) or fetch == _MOST:
                return chunk_hits(order[:limit], rows, query, words, limit, options)
            fetch = min(_MOST, fetch * _WIDER)

    def _found(
        self,
        kind: VectorKind,
        queries: Sequence[Vector | str],
        field: str,
        limit: int,
        options: SearchOptions,
        rows: dict[str, Hit],
    ) -> list[_Found]:
        """What each query finds; `rows` gets what is behind the keys."""
        if kind not in self._store.collections.kinds:
            return [_Found([], 0, True) for _ in queries]
        named = [of_entries(options.entries)] if options.entries else []
        named += [titled(options.titles)] if options.titles else []
        where = every([alive(self._clock()), *named, *passing(options.filter)])
        output = [*OUTPUT[kind], "vector"] if field == "words" else OUTPUT[kind]  # by words there is no cosine yet
        lists = self._store.search(kind, queries, field, limit, where, output)
        entries = self._store.entries({str(row["entity"]["entry"]) for selected in lists for row in selected})
        results = []
        for selected in lists:
            hits: list[tuple[str, float]] = []
            for row in selected:
                fields, key = row["entity"], str(row["key"])
                revision, entry = entries.get(str(fields["entry"]), _GONE)
                if entry is None or revision != fields["revision"]:
                    continue
                if options.titles and entry.title not in options.titles:  # it only begins with one of them
                    continue
                hits.append((key, float(row["distance"])))
                rows[key] = Hit(revision, entry, fields.get("text", ""), fields.get("look", 0), vector_of(fields))
            results.append(_Found(hits, len(selected) - len(hits), len(selected) < limit))
        return results


def _first_of_entries(order: Sequence[tuple[str, float]], rows: dict[str, Hit]) -> list[tuple[str, float]]:
    return first_of_each(order, lambda hit: rows[hit[0]].entry.id)
