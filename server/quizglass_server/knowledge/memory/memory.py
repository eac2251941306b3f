"""The visual memory: takes sightings in, forgets them in time or when told to, and finds them.

It keeps them in a knowledge store of its own (`store.py`), with all that such a store does: durable commits, checksums,
indexes, expiry, compaction. This module knows neither gRPC nor turns.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from quizglass.values import Filter, MemoryStats, Order
from quizglass_server.config.settings import MemoryOptions
from quizglass_server.domain.entries import EntryHit, SearchOptions
from quizglass_server.domain.sightings import Seen, SightingFilter, SightingHit, SightingQuery
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import KnowledgeFailed, NotFound, QuizglassError
from quizglass_server.knowledge.content.chunks import passage
from quizglass_server.knowledge.database.disk import failed, make_directory
from quizglass_server.knowledge.ingest.embedding import Embedders, unit_vector
from quizglass_server.knowledge.memory.entries import drafted, filter_of, sighting_of
from quizglass_server.knowledge.memory.queue import SightingQueue
from quizglass_server.knowledge.memory.store import SightingStore
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder

logger = logging.getLogger(__name__)

AS_GOOD = 0.2
"""How far below the best cosine a sighting may be and still count as the same thing, whenever it was."""

_TIDY_S = 3600.0  # how often what has expired is removed from the files, which rebuilds the indexes
_FIRST_LOOK = 64  # sightings that a search by picture looks at before it looks further
_MAKE_ROOM = 16  # a sixteenth of the sightings goes when the bytes are too many
_OTHERS = 0o077  # permissions of group and others
_PATIENCE_S = 5.0  # for what waits to be written when the server stops


class SightingMemory:
    """Open with `open`, then use from one event loop; close with `close`."""

    def __init__(
        self,
        store: SightingStore,
        options: MemoryOptions,
        text_encoder: TextEncoder | None,
        image_encoder: ImageEncoder | None,
        busy: Callable[[], bool],
    ) -> None:
        """For `open` only."""
        self.options = options
        self._store = store
        self._text_encoder = text_encoder
        self._image_encoder = image_encoder
        self._queue = SightingQueue(self._write, busy)
        self._forgotten = asyncio.Event()
        self._tidying = asyncio.create_task(self._tidy(), name="visual memory, compaction")

    @classmethod
    async def open(
        cls,
        directory: Path,
        options: MemoryOptions,
        *,
        text_encoder: TextEncoder | None,
        image_encoder: ImageEncoder | None,
        busy: Callable[[], bool] = lambda: False,
    ) -> SightingMemory:
        """Open a directory, made for this user alone if need be, and forget what is older than the options allow.

        `busy` is true while turns are running, which writing should not slow down.

        Raises:
            KnowledgeLocked: another server has it open; the message names the directory.
            KnowledgeFailed: it cannot be read or written.
        """
        await asyncio.to_thread(_private, directory)
        store = await SightingStore.open(directory, text_encoder=text_encoder, image_encoder=image_encoder)
        memory = cls(store, options, text_encoder, image_encoder, busy)
        try:
            await memory._forget_old()
        except BaseException:
            await memory.close()
            raise
        return memory

    def remember(self, seen: Seen) -> None:
        """Take a sighting in. Returns at once and raises nothing: it is written later, or counted as lost."""
        sighting = seen.sighting
        self._queue.put(replace(seen, sighting=replace(sighting, time=sighting.time + self._ahead())))

    async def by_picture(self, vectors: Sequence[Vector], query: SightingQuery) -> list[SightingHit]:
        """Sightings that look like any of these views of one thing.

        The latest first, of those that are nearly as similar as the best (`AS_GOOD`), or the most similar first.

        Raises:
            RoleMissing: without an image encoder.
        """
        options, wide = SearchOptions(self._filter(query.filter)), max(_FIRST_LOOK, 4 * query.limit)
        while True:
            entries = await self._store.search_crops(vectors, wide, options)
            least = -1.0 if query.least_score is None else query.least_score
            if entries and query.order is Order.LATEST:
                least = max(least, entries[0].score - AS_GOOD)
            if query.order is Order.BEST or len(entries) < wide or entries[-1].score < least:
                break  # the latest may be any of those that are as good, the best are the first
            wide *= 4
        return _ordered([self._hit(hit) for hit in entries if hit.score >= least], query.order)[: query.limit]

    async def by_text(self, vector: Vector | None, words: str, query: SightingQuery) -> list[SightingHit]:
        """Sightings whose question, answer and names fit best, in the order asked for.

        Raises:
            RoleMissing: without a text encoder.
        """
        options = SearchOptions(self._filter(query.filter), per_entry=True)
        chunks = await self._store.search_texts(vector, query.limit, words, options)
        return _ordered([self._hit(EntryHit(chunk.entry, chunk.score)) for chunk in chunks], query.order)

    async def latest(self, query: SightingQuery) -> list[SightingHit]:
        """The latest sightings, latest first."""
        entries = await self._store.newest(query.limit, self._filter(query.filter))
        return [self._hit(EntryHit(entry, 0.0)) for entry in entries]

    async def thumbnail(self, id: str) -> bytes:
        """The small picture of a sighting, JPEG. Raises NotFound."""
        try:
            sighting = sighting_of(await self._store.get(id))
        except NotFound as error:
            raise NotFound(f"no sighting {id!r} in the visual memory", sighting=id) from error
        if sighting.thumbnail_sha256 is None:
            raise NotFound(f"no small picture of sighting {id!r} was kept", sighting=id)
        return await self._store.picture(sighting.thumbnail_sha256)

    async def forget(self, wanted: SightingFilter) -> tuple[int, int]:
        """Forget sightings, durably, those included that wait to be written.

        The database and its log have nothing of them on return, unless the log is being read; the indexes' files may
        until the next compaction, which follows.

        Returns:
            How many, and the number of the commit: a compaction up to it has removed the bytes.
        """
        await self._queue.settle()
        forgotten = await self._store.discard(self._filter(wanted))
        self._forgotten.set()
        with suppress(KnowledgeFailed):
            await self._store.empty_log()
        return forgotten

    async def compact(self) -> int:
        """Remove what has gone from the files; the number of the commit up to which that is done."""
        return await self._store.compact()

    async def stats(self) -> MemoryStats:
        """How much is remembered, and what became of the rest."""
        queue, options = self._queue, self.options
        oldest, latest = await self._store.ends()
        return MemoryStats(
            sightings=self._store.count(),
            bytes=await self._store.size(),
            oldest_time=max(0, oldest - self._ahead()) if oldest else 0,
            latest_time=max(0, latest - self._ahead()) if latest else 0,
            ttl=options.memory_ttl_s,
            max_sightings=options.memory_sightings,
            max_bytes=options.memory_bytes,
            waiting=queue.waiting,
            remembered=queue.remembered,
            dropped=queue.dropped,
            failed=queue.failed,
        )

    async def settle(self) -> None:
        """Wait until what was taken in before this call is written, or lost."""
        await self._queue.settle()

    async def close(self) -> None:
        """Write what waits and let the next server in; cancelled, it no longer waits for the first."""
        try:
            await self._queue.close(_PATIENCE_S)
        finally:
            self._tidying.cancel()
            await asyncio.wait({self._tidying})
            await self._store.close()

    def _ahead(self) -> int:
        """Seconds by which the store's time is ahead of the system's, which was set back, or behind it.

        Sightings are kept by the store's time, which passes evenly, and told by the system's: what was seen an hour ago
        was an hour ago, whatever clocks were set to since.
        """
        return round(self._store.now() - time.time())

    def _hit(self, hit: EntryHit) -> SightingHit:
        sighting = sighting_of(hit.entry)
        return SightingHit(replace(sighting, time=max(0, sighting.time - self._ahead())), hit.score)

    def _filter(self, wanted: SightingFilter) -> Filter:
        times = (wanted.time_from, wanted.time_until)
        time_from, time_until = (max(1, each + self._ahead()) if each else 0 for each in times)
        return filter_of(replace(wanted, time_from=time_from, time_until=time_until))

    async def _write(self, seen: Seen) -> None:
        vectors = []
        if self._image_encoder is not None:
            dimension = self._image_encoder.dimension
            vectors = [unit_vector(vector, dimension, "image_encoder") for vector in await seen.embed()]
        draft = await asyncio.to_thread(drafted, seen, len(vectors), self.options, self._text_encoder)
        draft.picture_vectors.extend(vectors)
        embedders = Embedders(self._text_encoder, None)
        for chunk in draft.chunks:
            await embedders.passages.put(passage(draft.entry.title, chunk), draft.chunk_vectors.append)
        await embedders.flush()
        await self._store.keep(draft)
        await self._make_room()

    async def _forget_old(self) -> None:
        """Forget what is older than the options allow: those kept when they allowed more do not expire yet."""
        now = int(self._store.now())
        expired, _ = await self._store.discard(Filter(time_until=max(1, now - self.options.memory_ttl_s)))
        if expired:
            logger.info("sightings expired", extra={"audit": True, "count": expired})

    async def _make_room(self) -> None:
        """Forget the oldest beyond the options' number and bytes."""
        store, options, gone = self._store, self.options, 0
        if store.count() > options.memory_sightings:
            gone += (await store.discard(keep=options.memory_sightings))[0]
        while store.count() > 1 and await store.size() > options.memory_bytes:
            gone += (await store.discard(keep=store.count() - max(1, store.count() // _MAKE_ROOM)))[0]
        if gone:
            logger.info("sightings forgotten for want of room", extra={"audit": True, "count": gone})

    async def _tidy(self) -> None:
        """Compact soon after a deletion, and now and then after an expiry."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TIDY_S):
                    await self._forgotten.wait()
            self._forgotten.clear()
            try:
                await self._forget_old()
                if self._store.removed != self._store.compacted:
                    sequence = await self.compact()
                    logger.info(
                        "memory compacted", extra={"audit": True, "count": self._store.count(), "sequence": sequence}
                    )
            except QuizglassError as error:
                logger.warning("what was forgotten is still in the files", extra={"reason": error.message})
            except Exception:
                logger.exception("what was forgotten is still in the files")


def _private(directory: Path) -> None:
    try:
        make_directory(directory)
        if (mode := directory.stat().st_mode) & _OTHERS:
            directory.chmod(mode & ~_OTHERS)
    except OSError as error:
        raise failed(f"memory directory {directory}: cannot be used", error) from error


def _ordered(hits: list[SightingHit], order: Order) -> list[SightingHit]:
    return sorted(hits, key=lambda hit: hit.sighting.time, reverse=True) if order is Order.LATEST else hits
