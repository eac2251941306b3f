"""Looks the gold query up among the chunks of the knowledge store: the paper's k_t before reranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quizglass.values import Origin, SearchMode
from quizglass_server.domain.entries import ChunkHit, SearchOptions, first_picture
from quizglass_server.domain.turns import Evidence, Vector
from quizglass_server.errors import needed
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.scheduling.ledger import handed, text_size
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import passages, texts

_ANY = SearchOptions()


class TextIndex(Protocol):
    """What can be searched by text."""

    async def search_texts(
        self, vector: Vector | None, limit: int, words: str = "", finding: SearchOptions = _ANY
    ) -> list[ChunkHit]:
        """The chunks nearest to a vector and those that fit the words best, best first."""
        ...


def _told(hits: list[ChunkHit] | None, _: TextIndex, query: str, *__: object) -> Telling:
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
