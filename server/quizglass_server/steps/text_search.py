"""Looks the gold query up among the chunks of the knowledge store: the paper's k_t before reranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quizglass_server.domain import ChunkHit, Evidence, Origin, Vector
from quizglass_server.models.faces import TextEncoder


class TextIndex(Protocol):
    """What can be searched by text."""

    async def search_texts(self, vector: Vector, limit: int) -> list[ChunkHit]:
        """The nearest chunks, best first."""
        ...


async def search_texts(encoder: TextEncoder, index: TextIndex, query: str, limit: int) -> list[ChunkHit]:
    """The `limit` nearest chunks, best first."""
    vectors = await encoder.embed_queries([query])
    return await index.search_texts(vectors[0], limit)


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
        )
        for hit in hits
    ]
