"""What the server asks of a knowledge store, wherever it keeps its entries.

`KnowledgeBase` (`base.py`) keeps them in a directory, `MilvusKnowledge` (`milvus/base.py`) in Milvus. Tests of this
interface run on both.
"""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterable, Callable, Sequence
from typing import Protocol

from quizglass.values import Deleted, Entry
from quizglass_server.domain.entries import ChunkHit, EntryHit, PicturedEntry, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge.content.records import AddReport

_ANY = SearchOptions()


class FoundKnowledge(Protocol):
    """Entries as they are found and read. Every method that is awaited may raise KnowledgeFailed."""

    def count(self) -> int:
        """Number of entries; where others write as well, as of a few seconds ago."""
        ...

    async def get(self, id: str) -> Entry:
        """One entry. Raises NotFound."""
        ...

    async def picture(self, sha256: bytes) -> bytes:
        """A stored picture, encoded. Raises NotFound, NotSupported."""
        ...

    async def search_views(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> builtins.list[builtins.list[EntryHit]]:
        """For each vector, entries by their best picture, best first. Raises RoleMissing without an image encoder."""
        ...

    async def search_crops(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> builtins.list[EntryHit]:
        """Entries by their best picture for any of several crops of one thing, best first. Raises RoleMissing."""
        ...

    async def search_texts(
        self, vector: Vector | None, limit: int, words: str = "", options: SearchOptions = _ANY
    ) -> builtins.list[ChunkHit]:
        """Chunks, best first: by vector, and with the words of the query by those too. Raises RoleMissing."""
        ...


class KnowledgeStore(FoundKnowledge, Protocol):
    """Entries, kept and found. Every method that is awaited may raise KnowledgeFailed."""

    @property
    def backend(self) -> str:
        """Where the store keeps its entries: "local" or "milvus"."""
        ...

    @property
    def ready(self) -> bool:
        """Whether it can be searched right now."""
        ...

    @property
    def writable(self) -> bool:
        """Whether it can be written right now."""
        ...

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called, on the event loop, whenever `ready` may have changed."""
        ...

    async def add(self, entries: AsyncIterable[PicturedEntry]) -> AddReport:
        """Add or replace entries; on return all that were added are kept and found. Raises RoleMissing."""
        ...

    async def list(self, after: str, limit: int) -> builtins.list[Entry]:
        """Up to `limit` entries whose id comes after `after`, in order of id; fewer when they are very long."""
        ...

    async def delete(self, id: str) -> Deleted:
        """Delete an entry. Raises NotFound."""
        ...

    async def compact(self) -> int:
        """Remove what deleted entries have left; the sequence number up to which that is done.

        Raises:
            NotSupported: the backend gives no such receipt.
            KnowledgeFailed: something may be left; the message says where.
        """
        ...

    async def close(self) -> None:
        """Finish what is being written. Twice does no harm."""
        ...
