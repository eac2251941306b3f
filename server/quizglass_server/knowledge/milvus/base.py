"""The knowledge store in Milvus: implements `KnowledgeStore` so that several servers can share its entries.

pymilvus blocks, so one thread writes and some read; none of it happens on the event loop. Nothing is remembered of
what was searched: another server may have written since.
"""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import logging
from collections.abc import AsyncIterable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from quizglass.values import Deleted, Entry
from quizglass_server.decoding.markup.converter import Converter
from quizglass_server.domain.entries import ChunkHit, EntryHit, PicturedEntry, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import KnowledgeFailed, NotSupported
from quizglass_server.knowledge.content.records import AddReport, EntryDraft, Replacements
from quizglass_server.knowledge.index.idle_window import IdleWindow
from quizglass_server.knowledge.ingest.drafts import Decode, Ingest, spaces
from quizglass_server.knowledge.ingest.embedding import picture_queries, text_query
from quizglass_server.knowledge.milvus.collections import Collections
from quizglass_server.knowledge.milvus.finder import MilvusFinder
from quizglass_server.knowledge.milvus.link import MilvusAccess, MilvusLink
from quizglass_server.knowledge.milvus.store import MilvusStore
from quizglass_server.knowledge.search.ranking import best_of_views
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.steady_clock import SteadyClock

logger = logging.getLogger(__name__)

_READERS = 8
_LOOK_S = 5.0
"""How often entries are counted and expired ones deleted: others write as well."""
_ANY = SearchOptions()

Result = TypeVar("Result")


class MilvusKnowledge:
    """A knowledge store in Milvus. Open with `open`, use from one event loop, close with `close`."""

    backend = "milvus"

    def __init__(
        self,
        link: MilvusLink,
        store: MilvusStore,
        clock: SteadyClock,
        encoders: tuple[TextEncoder | None, ImageEncoder | None],
        decode: Decode,
    ) -> None:
        """For `open` only."""
        self._link = link
        self._store = store
        self._clock = clock
        self._finder = MilvusFinder(store, clock)
        self._text_encoder, self._image_encoder = encoders
        self._decode = decode
        self._count = 0
        self._idle_window = IdleWindow()
        self._closed = False
        self._writing = ThreadPoolExecutor(1, "knowledge-write")
        self._reading = ThreadPoolExecutor(_READERS, "knowledge-read")
        self._looking: asyncio.Task[None] | None = None
        self._converter = Converter()

    @classmethod
    async def open(
        cls,
        access: MilvusAccess,
        *,
        name: str,
        text_encoder: TextEncoder | None,
        image_encoder: ImageEncoder | None,
        decode: Decode,
    ) -> MilvusKnowledge:
        """Connect to a Milvus and make the collections of this name if need be.

        Args:
            access: where it is, and how it is spoken to.
            name: what the names of the collections begin with.
            text_encoder, image_encoder: of the bundle.
            decode: decodes pictures.

        Raises:
            SettingsError: the extra is not installed.
            KnowledgeLost: Milvus does not answer.
            KnowledgeFailed: the collections are of another kind, or their vectors of another encoder.
        """
        encoders = text_encoder, image_encoder

        def connect() -> MilvusKnowledge:
            clock = SteadyClock(0)
            link = MilvusLink(access)
            try:
                store = MilvusStore(link, Collections(link, name, spaces(*encoders)), clock, access.timeout_s)
                base = cls(link, store, clock, encoders, decode)
                base._count = store.count()
            except BaseException:
                link.close()
                raise
            return base

        base = await asyncio.to_thread(connect)
        base._looking = asyncio.create_task(base._look())
        return base

    @property
    def ready(self) -> bool:
        """Whether Milvus answered last time."""
        return self._link.ready

    @property
    def writable(self) -> bool:
        """Whether entries can be written: as long as Milvus answers."""
        return self._link.ready

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called, on the event loop, when Milvus is lost or back."""
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(told)

        self._link.on_change(tell)

    def count(self) -> int:
        """Number of entries, as of this server's last write or of a few seconds ago."""
        return self._count

    async def add(self, entries: AsyncIterable[PicturedEntry]) -> AddReport:
        """Add or replace entries; on return Milvus has all that were added, and searches find them.

        Raises:
            RoleMissing: the bundle has no encoder for what an entry holds. Entries before it may have been added.
        """
        ingest = Ingest(self._text_encoder, self._image_encoder, self._decode, self._converter)
        return await ingest.all_of(entries, self._commit, self._idle_window)

    async def get(self, id: str) -> Entry:
        """One entry. Raises NotFound."""
        return await self._read(lambda: self._store.get(id))

    async def list(self, after: str, limit: int) -> builtins.list[Entry]:
        """Up to `limit` entries whose id comes after `after`, in order of id; fewer when they are very long."""
        return await self._read(lambda: self._store.page(after, limit))

    async def picture(self, sha256: bytes) -> bytes:
        """Raises NotSupported: Milvus keeps vectors, not pictures."""
        raise NotSupported(
            self.backend, "this server keeps its knowledge in Milvus, which has no pictures, only their vectors"
        )

    async def delete(self, id: str) -> Deleted:
        """Delete an entry; its sequence number is 0: there is no receipt for its bytes. Raises NotFound."""
        return await self._write(lambda: self._store.delete(id))

    async def compact(self) -> int:
        """Raises NotSupported: Milvus compacts by itself."""
        raise NotSupported(
            self.backend, "this server keeps its knowledge in Milvus, which compacts by itself, without a receipt"
        )

    async def search_views(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> builtins.list[builtins.list[EntryHit]]:
        """For each vector, entries by their best picture, best first. Raises RoleMissing without an image encoder."""
        queries = picture_queries(self._image_encoder, vectors)
        return await self._search(lambda: self._finder.views(queries, limit, options))

    async def search_crops(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> builtins.list[EntryHit]:
        """Entries by their best picture for any of several crops of one thing, best first. Raises RoleMissing."""
        return best_of_views(await self.search_views(vectors, limit, options), limit, options)

    async def search_texts(
        self, vector: Vector | None, limit: int, words: str = "", options: SearchOptions = _ANY
    ) -> builtins.list[ChunkHit]:
        """Chunks, best first: by vector, and with the words of the query by those too.

        Raises:
            RoleMissing: without a text encoder, unless the search is by keywords alone.
        """
        query = text_query(self._text_encoder, vector, options.mode)
        return await self._search(lambda: self._finder.texts(query, words, limit, options))

    async def close(self) -> None:
        """Finish what is being written, and close the connection. Twice does no harm."""
        if self._closed:
            return
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        await asyncio.shield(asyncio.to_thread(self._close))

    async def _commit(self, drafts: builtins.list[EntryDraft]) -> Replacements:
        return await self._write(lambda: self._store.put(drafts))

    async def _search(self, job: Callable[[], Result]) -> Result:
        with self._idle_window.search():
            return await self._read(job)

    async def _read(self, job: Callable[[], Result]) -> Result:
        """Run a job that reads, within the time that its caller has."""
        context = contextvars.copy_context()
        return await asyncio.wrap_future(self._submit(self._reading, lambda: context.run(job)))

    async def _write(self, job: Callable[[], Result]) -> Result:
        """Run a job that writes, after those before it; once begun it runs to its end, even without a waiter."""

        def written() -> Result:
            try:
                return job()
            finally:
                with suppress(KnowledgeFailed):
                    self._count = self._store.count()

        return await asyncio.shield(asyncio.wrap_future(self._submit(self._writing, written)))

    async def _look(self) -> None:
        """Count what others wrote, delete what has expired, and find out when a lost Milvus is back."""
        while True:
            await asyncio.sleep(self._link.pause or _LOOK_S)
            try:
                if not self._link.ready:
                    await self._read(self._store.collections.load)  # it may have been restarted
                await self._write(self._store.expire)
            except KnowledgeFailed as error:
                logger.debug("knowledge in Milvus could not be looked after: %s", error.message)
            except Exception:
                logger.exception("knowledge in Milvus could not be looked after")

    def _submit(self, threads: ThreadPoolExecutor, job: Callable[[], Result]) -> Future[Result]:
        if self._closed:
            raise KnowledgeFailed("the knowledge store is closed; the server is stopping")
        return threads.submit(job)

    def _close(self) -> None:
        self._converter.close()
        self._reading.shutdown()
        self._writing.shutdown()
        self._link.close()
