"""How a search is answered: nearest vectors and fitting words, fused, filtered, folded, and read from the truth.

Lists are fused by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009), since cosines and BM25 do not compare.
The score of a chunk stays its cosine, whichever search found it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from quizglass_server.domain import Vector
from quizglass_server.entries import ChunkHit, EntryHit, Filter, Finding, SearchMode
from quizglass_server.knowledge.catalog import Catalog
from quizglass_server.knowledge.checks import damaged
from quizglass_server.knowledge.index import VectorIndex
from quizglass_server.knowledge.looks import alike
from quizglass_server.knowledge.reader import Reader
from quizglass_server.knowledge.records import Hit, Kind
from quizglass_server.knowledge.schema import FILE

RANK_OFFSET = 60
"""Of reciprocal ranks, as in the paper: how little the first places differ."""
WORDS_WEIGHT = 1.0
"""Of the keyword search against the vector search."""

_ATTEMPTS = 10  # searches again when a hit was deleted between the index and the truth
_FURTHER = 24  # results that each search gives beyond the limit when they are fused or taken one an entry
_WIDER = 4  # how much further a search looks when near-duplicates are folded
_FACTS_OF = 5  # entries of the first results whose attributes are held against the question
_WORD = re.compile(r"\w+")


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
        wide = _WIDER * limit if finding.fold_alike else limit

        def search() -> list[list[tuple[int, float]]]:
            return [index.search(query, wide, per_entry=True, allowed=allowed) for query in queries]

        lists, rows = self._read(reader, Kind.PICTURES, search)
        return [_pictured(hits, rows, limit, fold=finding.fold_alike) for hits in lists]

    def texts(self, reader: Reader, query: Vector | None, words: str, limit: int, finding: Finding) -> list[ChunkHit]:
        """Chunks, best first; with `query` None or words empty by the other alone."""
        allowed = self._allowed(finding.filter)
        index = self._indexes.get(Kind.CHUNKS)
        hybrid = bool(words) and finding.mode is not SearchMode.VECTORS
        wide = limit + _FURTHER if hybrid or finding.per_entry else limit

        def search() -> list[list[tuple[int, float]]]:
            near: list[tuple[int, float]] = []
            if query is not None and index is not None:
                near = index.search(query, wide, per_entry=False, allowed=allowed)
            order = fused(near, self._by_words(words, wide, allowed)) if hybrid else near
            return [(index.first_of_each(order) if finding.per_entry and index else order)[:limit]]

        (order,), rows = self._read(reader, Kind.CHUNKS, search)
        hits = [_chunk(rows[label], query, score) for label, score in order]
        if hybrid:
            hits = _facts(words, hits) + hits
        return _first_of_each(hits) if finding.per_entry else _distinct(hits)[:limit]

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


def fused(near: Sequence[tuple[int, float]], fitting: Sequence[int]) -> list[tuple[int, float]]:
    """Labels of two lists by the sum of their reciprocal ranks, with the cosines that are known (else not a number)."""
    scores: dict[int, float] = {}
    for rank, (label, _) in enumerate(near, 1):
        scores[label] = 1 / (RANK_OFFSET + rank)
    for rank, label in enumerate(fitting, 1):
        scores[label] = scores.get(label, 0.0) + WORDS_WEIGHT / (RANK_OFFSET + rank)
    cosines = dict(near)
    order = sorted(scores, key=lambda label: -scores[label])
    return [(label, cosines.get(label, float("nan"))) for label in order]


def best_of_views(views: Iterable[Sequence[EntryHit]], limit: int) -> list[EntryHit]:
    """Entries by the best of several views of one thing, best first."""
    best: dict[str, EntryHit] = {}
    for hits in views:
        for hit in hits:
            if hit.entry.id not in best or hit.score > best[hit.entry.id].score:
                best[hit.entry.id] = hit
    return sorted(best.values(), key=lambda hit: -hit.score)[:limit]


def _chunk(hit: Hit, query: Vector | None, score: float) -> ChunkHit:
    if score != score and query is not None and len(hit.vector) == len(query):  # found by words: not a number
        score = float(hit.vector @ query)
    return ChunkHit(hit.entry, hit.text, 0.0 if score != score else score)


def _facts(words: str, hits: Sequence[ChunkHit]) -> list[ChunkHit]:
    """Attributes that a question names together with their entry, as sentences."""
    asked = set(_WORD.findall(words.lower()))
    facts: list[ChunkHit] = []
    for hit in _first_of_each(hits)[:_FACTS_OF]:
        if not _named(hit.entry.title, asked):
            continue
        for key, value in hit.entry.attributes.items():
            if value and _named(key.replace("_", " "), asked):
                facts.append(ChunkHit(hit.entry, fact(key, hit.entry.title, value), hit.score))
    return facts


def fact(key: str, title: str, value: str) -> str:
    """An attribute as a sentence."""
    return f"The {key.replace('_', ' ')} of {title} is {value}."


def _named(name: str, asked: set[str]) -> bool:
    words = _WORD.findall(name.lower())
    return bool(words) and asked.issuperset(words)


def _pictured(hits: Sequence[tuple[int, float]], rows: Mapping[int, Hit], limit: int, *, fold: bool) -> list[EntryHit]:
    kept: list[EntryHit] = []
    looks: list[int] = []
    for label, score in hits:
        row = rows[label]
        if fold and any(alike(row.look, look) for look in looks):
            continue
        looks.append(row.look)
        kept.append(EntryHit(row.entry, score))
    return kept[:limit]


def _first_of_each(hits: Sequence[ChunkHit]) -> list[ChunkHit]:
    first: dict[str, ChunkHit] = {}
    for hit in hits:
        first.setdefault(hit.entry.id, hit)
    return list(first.values())


def _distinct(hits: Sequence[ChunkHit]) -> list[ChunkHit]:
    """Without a second chunk of the same words: a fact may be a chunk as well."""
    seen: dict[tuple[str, str], ChunkHit] = {}
    for hit in hits:
        seen.setdefault((hit.entry.id, hit.text), hit)
    return list(seen.values())
