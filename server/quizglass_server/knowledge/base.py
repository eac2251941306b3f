"""The knowledge base: entries kept durably, found by picture and by text.

What counts is the SQLite database (`database/schema.py`); the indexes follow it (`index/search_indexes.py`). One
thread writes, two read, one builds indexes; none of it happens on the event loop. This module knows neither gRPC nor
how models run.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
from collections.abc import AsyncIterable, Callable, Hashable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from quizglass.values import Deleted, Entry
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.markup.converter import Converter
from quizglass_server.decoding.pictures import decode_picture
from quizglass_server.domain.entries import ChunkHit, EntryHit, PicturedEntry, SearchOptions
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.errors import CopiesLeft, KnowledgeFailed
from quizglass_server.knowledge.content.records import (
    AddReport,
    Change,
    EntryDraft,
    KnownContent,
    Replacements,
    VectorKind,
)
from quizglass_server.knowledge.database.disk import log_failure
from quizglass_server.knowledge.database.known import known_content
from quizglass_server.knowledge.database.lock import lock_directory
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.row_cache import RowCache, entry_bytes
from quizglass_server.knowledge.database.schema import FILE, explained, is_new, is_writable, naming
from quizglass_server.knowledge.database.threads import StoreThreads
from quizglass_server.knowledge.database.writer import DatabaseWriter
from quizglass_server.knowledge.index.idle_window import IdleWindow
from quizglass_server.knowledge.index.index import IndexOptions
from quizglass_server.knowledge.index.search_indexes import SearchIndexes
from quizglass_server.knowledge.ingest.drafts import Decode, Ingest, spaces
from quizglass_server.knowledge.ingest.embedding import picture_queries, text_query
from quizglass_server.knowledge.ingest.reembed import reembed
from quizglass_server.knowledge.repair.inspection import check_before_opening, last_state
from quizglass_server.knowledge.repair.swapping import other_copies, undo_interrupted
from quizglass_server.knowledge.search.finder import Finder
from quizglass_server.knowledge.search.ranking import best_of_views
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.scheduling.clients import current_client
from quizglass_server.steady_clock import SteadyClock

logger = logging.getLogger(__name__)

_TIDY_S = 15.0  # interval of sweeps for expired entries, and the pause after which the store counts as idle
_KEEP_TIME_S = 3600.0  # how often the time by which entries expire is written, should the server be killed
_ANSWERS, _ANSWER_BYTES = 256, 32 << 20  # kept of searches that may be asked again, until something is written
_ANY = SearchOptions()

Hits = TypeVar("Hits")


class KnowledgeBase:
    """A knowledge store in a directory. Open with `open`, use from one event loop, close with `close`."""

    backend = "local"
    ready = True
    """Whether it can be searched right now."""

    def __init__(
        self,
        directory: Path,
        encoders: tuple[TextEncoder | None, ImageEncoder | None],
        decode: Decode,
        options: IndexOptions,
    ) -> None:
        """For `open` only. Blocks."""
        self._directory = directory
        self._text_encoder, self._image_encoder = encoders
        self._decode = decode
        self._changes = 0
        self._idle_window = IdleWindow()
        self._closed = False
        self._hidden: set[int] = set()  # numbers of entries that have expired and could not be deleted
        self._answers = BoundedCache[Hashable, Any](_ANSWER_BYTES, _answer_bytes, "answers", "answers", together=True)
        self._row_cache = RowCache()
        self._background: list[asyncio.Task[None]] = []
        with ExitStack() as opened:
            opened.enter_context(closing(lock_directory(directory)))
            with explained(directory / FILE):
                if not is_new(directory / FILE):
                    undo_interrupted(directory)
            check_before_opening(directory)
            state = last_state(directory)
            self._count = state.count
            self._clock = SteadyClock(state.clock)
            self._time_kept: float = state.clock
            self._store = StoreThreads(directory / FILE, self._clock)
            opened.enter_context(closing(self._store))
            self.writable = is_writable(directory / FILE)
            """Whether its files may be changed."""
            kinds = spaces(*encoders)
            self._space_names = {kind: space.name for kind, space in kinds.items()}
            self._indexes = SearchIndexes(directory, self._store, kinds, options)
            opened.enter_context(closing(self._indexes))
            self._next_expiry = self._indexes.catalog.next_expiry()
            self._finder = Finder(self._indexes, self._row_cache, self._hidden, self._catch_up)
            self._converter = opened.enter_context(closing(Converter()))
            self._opened = opened.pop_all()
        if not self.writable:
            logger.warning("the knowledge store can be searched and not written", extra={"directory": str(directory)})

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        text_encoder: TextEncoder | None,
        image_encoder: ImageEncoder | None,
        decode: Decode | None = None,
        options: IndexOptions | None = None,
    ) -> Self:
        """Open a knowledge directory, creating it if need be. Pictures are decoded by `decode`, or under default caps.

        Vectors of other encoders than these are made anew in the background.

        Raises:
            KnowledgeLocked: another server has it open; the message names the directory.
            KnowledgeFailed: it cannot be read or written; the message names the directory too.
        """
        encoders = text_encoder, image_encoder
        with naming(directory):
            base = await asyncio.to_thread(
                cls, directory, encoders, decode or _decode_by_default, options or IndexOptions()
            )
        base._indexes.look_after()
        base._background = [asyncio.create_task(base._reembed()), asyncio.create_task(base._tidy())]
        return base

    def on_change(self, told: Callable[[], None]) -> None:
        """Nothing to tell: it is always ready."""

    async def add(self, entries: AsyncIterable[PicturedEntry]) -> AddReport:
        """Add or replace entries; on return all that were added are on disk and found.

        An entry that is not as documented is refused in the report and does not stop the others.

        Raises:
            RoleMissing: the bundle has no encoder for what an entry holds. Entries before it may have been added.
        """
        self._check_writable()
        ingest = Ingest(self._text_encoder, self._image_encoder, self._decode, self._converter, self._known)
        return await ingest.all_of(entries, self._commit, self._idle_window)

    async def get(self, id: str) -> Entry:
        """One entry. Raises NotFound."""
        await self._expire()
        return await self._store.read(lambda reader: reader.entry(id))

    async def list(self, after: str, limit: int) -> builtins.list[Entry]:
        """Up to `limit` entries whose id comes after `after`, in order of id; fewer when they are very long."""
        await self._expire()
        return await self._store.read(lambda reader: reader.page(after, limit))

    async def picture(self, sha256: bytes) -> bytes:
        """A stored picture, encoded. Raises NotFound."""
        await self._expire()
        return await self._store.read(lambda reader: reader.picture(sha256))

    async def delete(self, id: str) -> Deleted:
        """Delete an entry, durably; its bytes are gone from the files after `compact`. Raises NotFound."""
        self._check_writable()
        await self._expire(again=bool(self._hidden))
        change = await self._store.write(lambda writer: writer.delete([id]), self._follow)
        self._indexes.look_after()
        return Deleted(
            id, change.sequence, len(change.removed[VectorKind.CHUNKS]), len(change.removed[VectorKind.PICTURES])
        )

    async def compact(self) -> int:
        """Remove what deleted entries have left in the files; the sequence number up to which that is done.

        Raises:
            KnowledgeFailed: something may be left, as the log is being read.
            CopiesLeft: something may be left in files from before a repair or a restoration, in the same directory.
        """
        self._check_writable()
        sequence = await self._shrink()
        if copies := await asyncio.to_thread(other_copies, self._directory):
            raise CopiesLeft(
                f"{FILE} is compacted, but its directory has {', '.join(copies)}, where deleted entries may still be; "
                "remove what is no longer needed, or keep it elsewhere, and compact again"
            )
        return sequence

    async def _shrink(self) -> int:
        """Compact the store's own files; the sequence number up to which that is done."""
        sequence = (await self._store.read(DatabaseReader.state)).sequence
        await asyncio.wrap_future(self._indexes.rebuild())
        await self._store.alone(lambda writer: writer.shrink())
        return sequence

    def count(self) -> int:
        """Number of entries; one that has expired counts until the next search, or for up to 15 seconds."""
        return self._count

    async def search_views(
        self, vectors: Sequence[Vector], limit: int, options: SearchOptions = _ANY
    ) -> builtins.list[builtins.list[EntryHit]]:
        """For each vector, entries by their best picture, best first. Raises RoleMissing without an image encoder."""
        queries = picture_queries(self._image_encoder, vectors)
        key = ("views", *(query.tobytes() for query in queries), limit, options.key)
        return await self._answered(key, lambda reader: self._finder.views(reader, queries, limit, options))

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
        key = ("texts", b"" if query is None else query.tobytes(), words, limit, options.key)
        return await self._answered(key, lambda reader: self._finder.texts(reader, query, words, limit, options))

    async def settle(self) -> None:
        """Wait until vectors are embedded anew and graphs have caught up. Nothing needs to: searches go on before."""
        if self._background:
            await asyncio.shield(self._background[0])
        for idle in (False, True):
            self._indexes.look_after(idle=idle)
            while (job := self._indexes.job) is not None and not job.done():
                await asyncio.wrap_future(job)

    async def close(self) -> None:
        """Finish what is being written, save the indexes, let the next server in. Twice does no harm."""
        if self._closed:
            return
        self._closed = True
        for task in self._background:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):  # the files are closed, whatever became of it
                await task
        await asyncio.shield(asyncio.to_thread(self._close))

    def _close(self) -> None:
        try:
            if self._time_matters:
                self._store.write_and_wait(DatabaseWriter.keep_time)
        except KnowledgeFailed as error:
            logger.warning("the time by which entries expire could not be written: %s", error.message)
        finally:
            self._opened.close()

    @property
    def _time_matters(self) -> bool:
        """Whether entries expire, or have and are only hidden, in a store that can be told the time."""
        return self.writable and bool(self._next_expiry or self._hidden)

    def _check_writable(self) -> None:
        """Refuse at once, rather than after everything was embedded."""
        if not self.writable:
            raise KnowledgeFailed(f"{FILE}: it is read-only; make it writable and restart the server", file=FILE)

    async def _reembed(self) -> None:
        encoders = (self._text_encoder, self._image_encoder)
        done = await reembed(self._store, self._follow, *encoders, self._decode, self._converter)
        self._indexes.look_after()
        if done:
            logger.info("all of the store is embedded anew", extra={"directory": str(self._directory)})

    def _known(self, entry: Entry) -> KnownContent:
        """What is there of an entry's content; nothing where that cannot be read. Blocks."""
        titled = self._indexes.catalog.titled([entry.title])
        try:
            return self._store.read_here(lambda reader: known_content(reader, entry, titled, self._space_names))
        except KnowledgeFailed:  # it is embedded then, and writing it says what is wrong
            return KnownContent()

    async def _commit(self, drafts: builtins.list[EntryDraft]) -> Replacements:
        change = await self._store.write(
            lambda writer: writer.put(self._idle_window.between(drafts), self._space_names), self._follow
        )
        self._indexes.look_after()
        return change.replaced

    def _follow(self, change: Change) -> None:
        """Bring the indexes up to a commit; on the writing thread, so in order and even if the caller has gone."""
        self._indexes.follow(change)
        for kind, labels in change.removed.items():
            self._row_cache.forget(kind, labels)
            self._row_cache.keep(kind, change.rows[kind], self._row_cache.removals)
        hidden = self._hidden.intersection(change.gone)  # these no longer count
        self._hidden -= hidden
        self._count += change.entries + len(hidden)
        self._changes += 1
        if change.filed or change.gone:
            self._next_expiry = self._indexes.catalog.next_expiry()

    def _catch_up(self) -> None:
        """Wait, on the thread of a reader, until the indexes have followed every commit so far."""
        self._store.write_and_wait(lambda _: None)

    async def _answered(self, key: Hashable, find: Callable[[DatabaseReader], Hits]) -> Hits:
        """The answer of a search: from the cache if nothing was written since it was asked before."""
        await self._expire()
        second = int(self._clock()) if self._next_expiry else 0  # entries that expire say how many are left to them
        key = (current_client().owner, self._changes, second, key)  # its time must not show what others asked
        answer: Hits | None = self._answers.get(key)
        if answer is None:
            with self._idle_window.search():
                answer = await self._store.read(find)
            self._answers.put(key, answer)
        return answer

    async def _expire(self, *, again: bool = False) -> None:
        """Delete the entries whose time has come, before anybody sees them; where that fails, hide them.

        `again`: also those that could not be deleted before.
        """
        if not again and not (self._next_expiry and self._clock() >= self._next_expiry):
            return
        try:
            change = await self._store.write(lambda writer: writer.expire(self._clock()), self._follow)
            if change.gone:
                logger.info(
                    "expired entries deleted",
                    extra={"audit": True, "count": len(change.gone), "sequence": change.sequence},
                )
        except KnowledgeFailed as error:
            known = bool(self._hidden)
            await self._store.alone(self._hide)
            if not known:
                logger.warning("expired entries are hidden, and cannot be deleted: %s", error.message)

    def _hide(self, writer: DatabaseWriter) -> None:
        """Leave expired entries out of the indexes and the count; on the writing thread."""
        change = writer.expired(self._clock())
        self._follow(change)
        self._hidden.update(change.gone)

    async def _keep_time(self) -> None:
        """Write the time now and then: by it entries expire, should the system's clock be set back meanwhile."""
        now = self._clock()
        if self._time_matters and now - self._time_kept >= _KEEP_TIME_S:
            self._time_kept = now  # also where it fails: it is tried again in an hour
            await self._store.write(DatabaseWriter.keep_time)

    async def _tidy(self) -> None:
        """Delete expired entries periodically, and merge new vectors when the store is idle."""
        while True:
            before = self._changes
            await asyncio.sleep(_TIDY_S)
            try:
                await self._expire(again=bool(self._hidden))
                self._indexes.look_after(idle=self._changes == before)
                await self._keep_time()
            except Exception as error:
                what = "expired entries could not be deleted, or new ones not be merged; it is tried again"
                log_failure(logger, what, error)


def _answer_bytes(answer: Sequence[EntryHit | ChunkHit | Sequence[EntryHit]]) -> int:
    """Memory of an answer, in which entries are whole; at least its share of all."""
    hits = (hit for each in answer for hit in (each if isinstance(each, Sequence) else (each,)))
    return max(_ANSWER_BYTES // _ANSWERS, sum(entry_bytes(hit.entry) for hit in hits))


async def _decode_by_default(encoded: bytes, field: str) -> Picture:
    return await asyncio.to_thread(decode_picture, encoded, PictureLimits(), field)
