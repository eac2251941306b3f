"""A tenant's knowledge with another store beside it, which all tenants find and none of them changes."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from typing import TypeVar

from quizglass.values import Entry
from quizglass_server.domain.entries import ChunkHit, EntryHit, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import NotFound, NotSupported
from quizglass_server.knowledge.interface import FoundKnowledge
from quizglass_server.knowledge.search.ranking import best_of_views

_ANY = SearchOptions()
_WIDER, _MOST = 4, 4_096
"""How much further the shared store is searched where entries that the tenant has replaced took the places; and the
most results that are looked at.
"""
Hit = TypeVar("Hit", EntryHit, ChunkHit)


class WithShared(FoundKnowledge):
    """Both stores as one that can only be read. Where both have an entry of the same id, the tenant's own is meant.

    Args:
        own: the tenant's.
        shared: of all.
    """

    def __init__(self, own: FoundKnowledge, shared: FoundKnowledge) -> None:
        self._own = own
        self._shared = shared

    def count(self) -> int:
        """Entries of both."""
        return self._own.count() + self._shared.count()

    async def get(self, id: str) -> Entry:
        """One entry. Raises NotFound."""
        try:
            return await self._own.get(id)
        except NotFound:
            return await self._shared.get(id)

    async def picture(self, sha256: bytes) -> bytes:
        """A stored picture, encoded. Raises NotFound, NotSupported."""
        try:
            return await self._own.picture(sha256)
        except (NotFound, NotSupported):
            return await self._shared.picture(sha256)

    async def search_views(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> list[list[EntryHit]]:
        """For each vector, entries of both by their best picture, best first."""
        own = await self._own.search_views(vectors, limit, options)
        known, wide = dict[str, bool](), limit
        while True:
            shared = await self._shared.search_views(vectors, wide, options)
            both = [await self._merged(*each, limit, known) for each in zip(own, shared, strict=True)]
            lacks = (len(hits) < limit and len(each) == wide for hits, each in zip(both, shared, strict=True))
            if wide >= _MOST or not any(lacks):
                return [best_of_views([hits], limit, options) for hits in both]
            wide *= _WIDER

    async def search_crops(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> list[EntryHit]:
        """Entries of both by their best picture for any of several crops of one thing, best first."""
        return best_of_views(await self.search_views(vectors, limit, options), limit, options)

    async def search_texts(
        self, vector: Vector | None, limit: int, words: str = "", options: SearchOptions = _ANY
    ) -> list[ChunkHit]:
        """Chunks of both, each store's in its own order."""
        own = await self._own.search_texts(vector, limit, words, options)
        known, wide = dict[str, bool](), limit
        while True:
            shared = await self._shared.search_texts(vector, wide, words, options)
            both = await self._merged(own, shared, limit, known)
            if wide >= _MOST or len(both) == limit or len(shared) < wide:
                return both
            wide *= _WIDER

    async def _merged(self, own: Sequence[Hit], shared: Sequence[Hit], limit: int, known: dict[str, bool]) -> list[Hit]:
        """The best of both; an entry that the tenant's own store has is not found in the other, also where it says
        something else there and so was not found.
        """
        known |= {hit.entry.id: True for hit in own}
        mine, theirs = [(hit, True) for hit in own], [(hit, False) for hit in shared]
        best = list[Hit]()
        for hit, is_own in merge(mine, theirs, key=lambda pair: -pair[0].score):
            if len(best) == limit:
                break
            if is_own or not await self._has(hit.entry.id, known):
                best.append(hit)
        return best

    async def _has(self, entry_id: str, known: dict[str, bool]) -> bool:
        """Whether the tenant's own store has an entry, as far as it is not `known`."""
        if entry_id not in known:
            try:
                await self._own.get(entry_id)
                known[entry_id] = True
            except NotFound:
                known[entry_id] = False
        return known[entry_id]
