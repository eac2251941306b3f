"""Looks up chunks of the knowledge store, by the gold query (the paper's k_t) or an entry's own, and of sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from quizglass.values import Origin, SearchMode
from quizglass_server.domain.entries import ChunkHit, EntryHit, SearchOptions, first_picture
from quizglass_server.domain.turns import Evidence, Vector
from quizglass_server.errors import needed
from quizglass_server.knowledge.sources.guarded import GuardedSource
from quizglass_server.knowledge.sources.protocol import TextQuery
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.scheduling.ledger import handed, text_size
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import passages, texts

_ANY = SearchOptions()
_END = 24
"""Characters by which a passage is found again in its entry's text: its beginning may repeat headings."""


class TextIndex(Protocol):
    """What can be searched by text."""

    async def search_texts(
        self, vector: Vector | None, limit: int, words: str = "", finding: SearchOptions = _ANY
    ) -> list[ChunkHit]:
        """The chunks nearest to a vector and those that fit the words best, best first."""
        ...


def _told(hits: list[ChunkHit] | None, _: TextIndex, query: str, *__: object, **___: object) -> Telling:
    return texts("query", query), passages(text_evidence(hits or ()), lambda passage: passage.search_score)


@step("text_search", role="text_encoder", told=_told)
async def search_texts(
    encoder: TextEncoder | None, index: TextIndex, query: str, limit: int, finding: SearchOptions = _ANY
) -> list[ChunkHit]:
    """The `limit` best chunks, best first. Raises RoleMissing without an encoder, unless keywords alone are asked."""
    handed("knowledge", text_size(query))
    if finding.mode is SearchMode.KEYWORDS:
        return await index.search_texts(None, limit, query, finding)
    vectors = await needed(encoder, "text_encoder", "searching by text").embed_queries([query])
    handed("knowledge", vectors[0].nbytes)
    return await index.search_texts(vectors[0], limit, query, finding)


def with_pictures(hits: Sequence[ChunkHit]) -> list[EntryHit]:
    """The entries of chunks that have a picture, each once with its best chunk's score."""
    best: dict[str, EntryHit] = {}
    for hit in hits:
        if first_picture(hit.entry):
            best.setdefault(hit.entry.id, EntryHit(hit.entry, hit.score))
    return list(best.values())


def text_evidence(hits: Sequence[ChunkHit]) -> list[Evidence]:
    """Hits as evidence, not numbered and not chosen yet."""
    return [
        Evidence(
            id="",
            origin=Origin.TEXT_SEARCH,
            entry_id=hit.entry.id,
            title=hit.entry.title,
            text=hit.text,
            search_score=hit.score,
            source=hit.entry.source,
            picture=first_picture(hit.entry),
        )
        for hit in hits
    ]


def _told_own(hits: list[list[ChunkHit]] | None, _: TextEncoder | None, question: str, *__: object) -> Telling:
    own = [hit for each in hits or () for hit in each]
    return texts("question", question), passages(text_evidence(own), lambda passage: passage.search_score)


def _count(_: TextEncoder | None, __: str, entries: Sequence[str], *___: object) -> float:
    return len(entries)


@step("own_passages", role="knowledge", optional=True, size=_count, told=_told_own)
async def own_passages(
    index: TextIndex, encoder: TextEncoder | None, question: str, entries: Sequence[str], limit: int
) -> list[list[ChunkHit]]:
    """Of each entry by its id, in order, the `limit` passages that fit the question best, best first; by words alone
    without an encoder."""
    mode = SearchMode.HYBRID if encoder is not None else SearchMode.KEYWORDS
    options = [SearchOptions(mode=mode, entries=(entry,)) for entry in entries]
    return [await search_texts(encoder, index, question, limit, only) for only in options]


def in_order(hits: Sequence[ChunkHit]) -> list[ChunkHit]:
    """Passages of one entry as its text has them; those that are not told apart by their ends stand last."""

    def place(hit: ChunkHit) -> tuple[bool, int]:
        at = hit.entry.text.find(hit.text[-_END:])
        return at < 0, at

    return sorted(hits, key=place)


def with_passages(evidence: Sequence[Evidence], own: Sequence[Sequence[ChunkHit]]) -> list[Evidence]:
    """The first pieces of evidence with these passages behind their captions, each once."""
    said = [
        replace(item, text=" ".join(dict.fromkeys(text for text in (item.text, *(hit.text for hit in hits)) if text)))
        for item, hits in zip(evidence, own, strict=False)
    ]
    return [*said, *evidence[len(said) :]]


def _told_source(found: list[Evidence] | None, _: TextEncoder | None, query: str) -> Telling:
    return texts("query", query), passages(found or (), lambda passage: passage.search_score)


@step("source", optional=True, told=_told_source)
async def ask_source(source: GuardedSource, encoder: TextEncoder | None, query: str) -> list[Evidence]:
    """What a source has for a query, in its order, not numbered and not chosen yet.

    The cosines are this server's own, so that passages of every source can be compared. Without an encoder the scores
    are reciprocal ranks.
    """
    vector = (await encoder.embed_queries([query]))[0] if encoder is not None and source.by_vector else None
    found = await source.texts(TextQuery(query, vector))
    scores = [1 / rank for rank in range(1, len(found) + 1)]
    if encoder is not None and found:
        vector = (await encoder.embed_queries([query]))[0] if vector is None else vector
        embedded = await encoder.embed_passages([f"{passage.title}\n{passage.text}" for passage in found])
        scores = [float(vector @ each) for each in embedded]
    return [
        Evidence(
            id="",
            origin=Origin.TEXT_SEARCH,
            entry_id=f"{source.name}:{passage.id}",
            title=passage.title,
            text=passage.text,
            search_score=score,
            source=passage.address or source.name,
            trust=source.terms.trust,
        )
        for passage, score in zip(found, scores, strict=True)
    ]
