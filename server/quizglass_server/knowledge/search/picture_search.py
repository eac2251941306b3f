"""Searches by picture that every backend answers in the same way, from what it finds for each vector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from quizglass_server.domain.entries import EntryHit, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge.search.ranking import best_of_views

_ANY = SearchOptions()


class PictureSearch(ABC):
    """Searches by one vector, or by those of several crops of one thing."""

    @abstractmethod
    async def search_views(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> list[list[EntryHit]]:
        """For each vector, entries by their best picture, best first. Raises RoleMissing without an image encoder."""

    async def search_pictures(self, vector: Vector, limit: int, options: SearchOptions = _ANY) -> list[EntryHit]:
        """Entries by their best picture, best first. Raises RoleMissing without an image encoder."""
        return (await self.search_views([vector], limit, options))[0]

    async def search_crops(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> list[EntryHit]:
        """Entries by their best picture for any of several crops of one thing, best first."""
        return best_of_views(await self.search_views(vectors, limit, options), limit, options)
