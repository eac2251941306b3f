"""How what searches found becomes results: lists fused, near-duplicates folded, facts put first; for every backend.

Lists are fused by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009), since cosines and BM25 do not compare.
The score of a chunk stays its cosine, whichever search found it. A label is whatever a backend calls a row by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from quizglass.values import SearchMode
from quizglass_server.domain.entries import ChunkHit, EntryHit, SearchOptions
from quizglass_server.domain.facts import fact, key_words
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge.content.perceptual_hash import alike
from quizglass_server.knowledge.content.records import Hit
from quizglass_server.knowledge.content.spacing import spaced

RANK_OFFSET = 60
"""The constant of reciprocal rank fusion, as in the paper: the larger, the less the first places differ."""
WORDS_WEIGHT = 1.0
"""Weight of the keyword search against the vector search."""

_FURTHER = 24  # results that each search gives beyond the limit when they are fused or taken one an entry
_WIDER = 4  # how much further a search looks when near-duplicates are folded, and where they took all places again
_MOST_FOLDED = 4_096  # pictures that are looked at for others than near-duplicates
_FACTS_OF = 5  # entries of the first results whose attributes are held against the question
_WORD = re.compile(r"\w+")

Label = TypeVar("Label", bound=Hashable)
Item = TypeVar("Item")


def is_hybrid(words: str, options: SearchOptions) -> bool:
    """Whether texts are searched by words, alone or beside vectors."""
    return bool(words) and options.mode is not SearchMode.VECTORS


def texts_wanted(limit: int, words: str, options: SearchOptions) -> int:
    """How many chunks each search should give, so that `limit` are left at the end."""
    return limit + _FURTHER if is_hybrid(words, options) or options.per_entry else limit


def pictures_wanted(limit: int, options: SearchOptions) -> int:
    """How many entries a search by picture should give, so that `limit` are left at the end."""
    return _WIDER * limit if options.fold_alike else limit


def wider(wide: int, limit: int, lists: Sequence[Sequence[object]], found: Sequence[Sequence[EntryHit]]) -> int:
    """How many entries are to be looked at next, where near-duplicates took the places of others; 0: that is enough.

    Args:
        wide: how many were looked at.
        limit: how many results are wanted.
        lists: what each search gave.
        found: what became of each.
    """
    short = any(len(each) < limit and len(hits) >= wide for hits, each in zip(lists, found, strict=True))
    return min(_MOST_FOLDED, _WIDER * wide) if short and wide < _MOST_FOLDED else 0


def fused(near: Sequence[tuple[Label, float]], fitting: Sequence[Label]) -> list[tuple[Label, float]]:
    """Labels of two lists by the sum of their reciprocal ranks, with the cosines that are known (else not a number)."""
    scores: dict[Label, float] = {}
    for rank, (label, _) in enumerate(near, 1):
        scores[label] = 1 / (RANK_OFFSET + rank)
    for rank, label in enumerate(fitting, 1):
        scores[label] = scores.get(label, 0.0) + WORDS_WEIGHT / (RANK_OFFSET + rank)
    cosines = dict(near)
    order = sorted(scores, key=scores.__getitem__, reverse=True)  # of equal ones, the first stays first
    return [(label, cosines.get(label, float("nan"))) for label in order]


def first_of_each(items: Iterable[Item], group: Callable[[Item], Hashable]) -> list[Item]:
    """Items in their order, of each group only the first."""
    first: dict[Hashable, Item] = {}
    for item in items:
        first.setdefault(group(item), item)
    return list(first.values())


def best_of_views(views: Iterable[Sequence[EntryHit]], limit: int, options: SearchOptions) -> list[EntryHit]:
    """Entries by the best of several views of one thing, best first; near-duplicates folded across the views too."""
    best: dict[str, EntryHit] = {}
    for hits in views:
        for hit in hits:
            if hit.entry.id not in best or hit.score > best[hit.entry.id].score:
                best[hit.entry.id] = hit
    return _folded(sorted(best.values(), key=lambda hit: -hit.score), options)[:limit]


def pictured(
    hits: Sequence[tuple[Label, float]], rows: Mapping[Label, Hit], limit: int, options: SearchOptions
) -> list[EntryHit]:
    """Pictures in their order as results, near-duplicates of better ones left out when they are folded."""
    hits_of_entries = [EntryHit(rows[label].entry, score, rows[label].perceptual_hash) for label, score in hits]
    return _folded(hits_of_entries, options)[:limit]


def _folded(hits: list[EntryHit], options: SearchOptions) -> list[EntryHit]:
    if not options.fold_alike:
        return hits
    kept: list[EntryHit] = []
    for hit in hits:
        if not any(alike(hit.perceptual_hash, other.perceptual_hash) for other in kept):
            kept.append(hit)
    return kept


def chunk_hits(
    order: Sequence[tuple[Label, float]],
    rows: Mapping[Label, Hit],
    query: Vector | None,
    words: str,
    limit: int,
    options: SearchOptions,
) -> list[ChunkHit]:
    """Chunks in their order as results, after the facts that the words of a question name."""
    hits = [_chunk(rows[label], query, score) for label, score in order]
    if is_hybrid(words, options):
        hits = _facts(words, hits) + hits
    if options.per_entry:
        return first_of_each(hits, _entry_id)
    return first_of_each(hits, lambda hit: (hit.entry.id, hit.text))[:limit]  # a fact may be a chunk as well


def _entry_id(hit: ChunkHit) -> str:
    return hit.entry.id


def _chunk(hit: Hit, query: Vector | None, score: float) -> ChunkHit:
    vector = hit.vector
    if score != score and query is not None and vector is not None and len(vector) == len(query):  # found by words
        score = float(vector @ query)
    return ChunkHit(hit.entry, hit.text, 0.0 if score != score else score)


def _facts(words: str, hits: Sequence[ChunkHit]) -> list[ChunkHit]:
    """Attributes that a question names together with their entry, as sentences."""
    asked = set(_WORD.findall(spaced(words).lower()))
    facts: list[ChunkHit] = []
    for hit in first_of_each(hits, _entry_id)[:_FACTS_OF]:
        if not _named(hit.entry.title, asked):
            continue
        for key, value in hit.entry.attributes.items():
            if value and _named(key_words(key), asked):
                facts.append(ChunkHit(hit.entry, fact(key, value), hit.score))
    return facts


def _named(name: str, asked: set[str]) -> bool:
    words = _WORD.findall(spaced(name).lower())
    return bool(words) and asked.issuperset(words)
