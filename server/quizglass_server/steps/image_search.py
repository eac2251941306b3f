"""Looks the picture up among the pictures of the knowledge store: the paper's k_i."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quizglass_server.domain import RGB, EntryHit, Evidence, Origin, Vector
from quizglass_server.models.faces import ImageEncoder
from quizglass_server.steps.tuning import Tuning


class PictureIndex(Protocol):
    """What can be searched by picture."""

    async def search_pictures(self, vector: Vector, limit: int) -> list[EntryHit]:
        """The entries with the nearest pictures, best first."""
        ...


async def embed_view(encoder: ImageEncoder, view: RGB) -> Vector:
    """The vector of one view of a picture."""
    return (await encoder.embed([view]))[0]


async def search_pictures(index: PictureIndex, vector: Vector, tuning: Tuning) -> list[EntryHit]:
    """The nearest entries, best first, without those under the threshold."""
    hits = await index.search_pictures(vector, tuning.image_candidates)
    return [hit for hit in hits if hit.score >= tuning.image_accept]


def picture_evidence(hits: Sequence[EntryHit], shown: int) -> list[Evidence]:
    """Hits as evidence, not numbered yet; the first `shown` are for the generator."""
    return [
        Evidence(
            id="",
            origin=Origin.IMAGE_SEARCH,
            entry_id=hit.entry.id,
            title=hit.entry.title,
            text=hit.entry.caption,
            search_score=hit.score,
            source=hit.entry.source,
            used=position < shown,
        )
        for position, hit in enumerate(hits)
    ]
