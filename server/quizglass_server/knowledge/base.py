"""The knowledge base: entries kept durably, found by picture and by text.

SQLite is the truth (`schema.py`); the indexes follow it (`index.py`, `upkeep.py`). One thread writes, two read, one
builds graphs; none of it happens on the event loop. This module knows neither gRPC nor how models run.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from quizglass_server.domain import ChunkHit, Entry, EntryHit, Picture, PicturedEntry, Refusal, Vector
from quizglass_server.errors import InvalidInput, KnowledgeFailed, RoleMissing
from quizglass_server.knowledge.checks import damaged
from quizglass_server.knowledge.clock import StoreClock
from quizglass_server.knowledge.embedding import unit_vector
from quizglass_server.knowledge.index import IndexOptions, VectorIndex
from quizglass_server.knowledge.ingest import Decode, Ingest, spaces
from quizglass_server.knowledge.inspection import check_before_opening
from quizglass_server.knowledge.lock import DirectoryLock
from quizglass_server.knowledge.reader import Reader
from quizglass_server.knowledge.records import AddReport, Change, Draft, GraphRecord, Kind
from quizglass_server.knowledge.reembed import reembed_pictures, reembed_texts
from quizglass_server.knowledge.salvage import migrate
from quizglass_server.knowledge.schema import FILE, is_new
from quizglass_server.knowledge.snapshots import Snapshots
from quizglass_server.knowledge.threads import StoreThreads
from quizglass_server.knowledge.upkeep import Upkeep
from quizglass_server.knowledge.validation import shown_id
from quizglass_server.models.faces import ImageEncoder, TextEncoder
from quizglass_server.pictures import PictureLimits, decode_picture

_COMMIT_ENTRIES = 128  # entries a commit while importing: the wait for the disk is shared
_COMMIT_BYTES = 32 << 20  # encoded pictures a commit, which wait in memory
_ATTEMPTS = 10  # searches again when a hit was deleted between the index and the truth


class KnowledgeBase:
    """Open with `open`, then use from one event loop; close with `close`."""

    def __init__(self, directory: Path, lock: DirectoryLock, decode: Decode) -> None:
        """For `open` only."""
        self._path = directory / FILE
        self._directory = directory
        self._lock = lock
        self._decode = decode
        self._text_encoder: TextEncoder | None = None
        self._image_encoder: ImageEncoder | None = None
        self._count = 0
        self._closed = False
        self._upkeep: dict[Kind, Upkeep] = {}
        self._upkeep_job: Future[None] | None = None
        self._clock = StoreClock(_remembered(directory))
        self._store = StoreThreads(self._path, self._clock)
        self._building = ThreadPoolExecutor(1, "knowledge-build")

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        text_encoder: TextEncoder | None,
        image_encoder: ImageEncoder | None,
        decode: Decode | None = None,
        options: IndexOptions | None = None,
    ) -> KnowledgeBase:
        """Open a knowledge directory, creating it if need be. Pictures are decoded by `decode`, or under default caps.

        Vectors of other encoders than these are made anew first, which takes as long as importing does.

        Raises:
            KnowledgeLocked: another server has it open; the message names the directory.
            KnowledgeFailed: it cannot be read or written.
        """
        base = await asyncio.to_thread(cls._unfilled, directory, decode or _decode_by_default)
        try:
            base._text_encoder, base._image_encoder = text_encoder, image_encoder
            await base._reembed()
            await asyncio.to_thread(base._fill, options or IndexOptions())
        except BaseException:
            await base.close()
            raise
        base._look_after()
        return base

    async def add(self, entries: AsyncIterable[PicturedEntry]) -> AddReport:
        """Add or replace entries; on return all that were added are on disk and found.

        An entry that is not as documented is refused in the report and does not stop the others.

        Raises:
            RoleMissing: the bundle has no encoder for what an entry holds. Entries before it may have been added.
        """
        ingest = Ingest(self._text_encoder, self._image_encoder, self._decode)
        report = AddReport()
        drafts: list[Draft] = []
        number = 0
        async for given in entries:
            try:
                drafts.append(await ingest.prepare(given))
            except InvalidInput as refusal:
                report.refused.append(Refusal(number, shown_id(given.entry.id), refusal.field, refusal.description))
            number += 1
            if len(drafts) >= _COMMIT_ENTRIES or sum(map(_picture_bytes, drafts)) >= _COMMIT_BYTES:
                report.added += await self._commit(ingest, drafts)
                drafts = []
        report.added += await self._commit(ingest, drafts)
        return report

    async def get(self, id: str) -> Entry:
        """One entry. Raises NotFound."""
        return await self._store.read(lambda reader: reader.entry(id))

    async def list(self, after: str, limit: int) -> builtins.list[Entry]:
        """Up to `limit` entries whose id comes after `after`, in order of id; fewer when they are very long."""
        return await self._store.read(lambda reader: reader.page(after, limit))

    async def delete(self, id: str) -> None:
        """Delete an entry, durably. Raises NotFound."""
        await self._store.write(lambda writer: writer.delete([id]), self._follow)
        self._look_after()

    def count(self) -> int:
        """Number of entries."""
        return self._count

    async def search_pictures(self, vector: Vector, limit: int) -> builtins.list[EntryHit]:
        """Entries by their best picture, best first. Raises RoleMissing without an image encoder."""
        return (await self.search_views([vector], limit))[0]

    async def search_views(self, vectors: Sequence[Vector], limit: int) -> builtins.list[builtins.list[EntryHit]]:
        """For each vector, entries by their best picture, best first. Raises RoleMissing without an image encoder."""
        encoder = self._image_encoder
        if encoder is None:
            raise RoleMissing("image_encoder", "searching by picture")
        queries = [unit_vector(vector, encoder.dimension, "image_encoder") for vector in vectors]
        found = await self._store.read(lambda reader: self._found(reader, Kind.PICTURES, queries, limit))
        return [[EntryHit(entry, score) for entry, _, score in hits] for hits in found]

    async def search_texts(self, vector: Vector, limit: int) -> builtins.list[ChunkHit]:
        """Chunks, best first. Raises RoleMissing without a text encoder."""
        encoder = self._text_encoder
        if encoder is None:
            raise RoleMissing("text_encoder", "searching by text")
        query = unit_vector(vector, encoder.dimension, "text_encoder")
        (hits,) = await self._store.read(lambda reader: self._found(reader, Kind.CHUNKS, [query], limit))
        return [ChunkHit(entry, text, score) for entry, text, score in hits]

    async def settle(self) -> None:
        """Wait until the graphs have caught up with the entries. Nothing needs to: searches are right before."""
        while (job := self._upkeep_job) is not None and not job.done():
            await asyncio.wrap_future(job)

    async def close(self) -> None:
        """Finish what is being written, save the graphs, let the next server in. Twice does no harm."""
        if not self._closed:
            self._closed = True
            await asyncio.shield(asyncio.to_thread(self._close))

    @classmethod
    def _unfilled(cls, directory: Path, decode: Decode) -> KnowledgeBase:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise KnowledgeFailed(f"knowledge directory {directory}: cannot be created ({error.strerror})") from error
        lock = DirectoryLock(directory)
        try:
            migrate(directory)
            check_before_opening(directory)
            return cls(directory, lock, decode)
        except BaseException:
            lock.release()
            raise

    async def _reembed(self) -> None:
        space = spaces(self._text_encoder, self._image_encoder)
        if self._text_encoder is not None:
            await reembed_texts(self._store, self._text_encoder, space[Kind.CHUNKS])
        if self._image_encoder is not None:
            await reembed_pictures(self._store, self._image_encoder, space[Kind.PICTURES], self._decode)
        self._count = (await self._store.read(Reader.state)).count

    def _fill(self, options: IndexOptions) -> None:
        snapshots = Snapshots(self._directory)
        encoders = {Kind.CHUNKS: self._text_encoder, Kind.PICTURES: self._image_encoder}
        for kind, space in spaces(self._text_encoder, self._image_encoder).items():
            encoder = encoders[kind]
            assert encoder is not None
            index = VectorIndex(encoder.dimension, options)
            self._upkeep[kind] = Upkeep(kind, space, index, self._path, snapshots, self._record_graph)
            self._upkeep[kind].load()

    async def _commit(self, ingest: Ingest, drafts: builtins.list[Draft]) -> int:
        if not drafts:
            return 0
        await ingest.finish()
        space = spaces(self._text_encoder, self._image_encoder)
        await self._store.write(lambda writer: writer.put(drafts, space), self._follow)
        self._look_after()
        return len(drafts)

    def _follow(self, change: Change) -> None:
        """Bring the indexes up to a commit; on the writing thread, so in order and even if the caller has gone."""
        for kind, upkeep in self._upkeep.items():
            upkeep.index.apply(change.added[kind], change.removed[kind])
        self._count += change.entries

    def _found(
        self, reader: Reader, kind: Kind, queries: Sequence[Vector], limit: int
    ) -> builtins.list[builtins.list[tuple[Entry, str, float]]]:
        index = self._upkeep[kind].index
        for _ in range(_ATTEMPTS):
            found = [index.search(query, limit, per_entry=kind is Kind.PICTURES) for query in queries]
            labels = {label: None for hits in found for label, _ in hits}
            rows = reader.hits(kind, builtins.list(labels))
            if len(rows) == len(labels):
                return [[(rows[label].entry, rows[label].text, score) for label, score in hits] for hits in found]
            self._store.write_and_wait(lambda _: None)  # what was deleted in between leaves the index with its commit
        raise damaged(FILE, f"table {kind.value} lacks rows; it")

    def _look_after(self) -> None:
        """Start upkeep on its thread if any is due and none is running."""
        idle = self._upkeep_job is None or self._upkeep_job.done()
        if idle and not self._closed and any(upkeep.index.due() for upkeep in self._upkeep.values()):
            self._upkeep_job = self._building.submit(_run_all, list(self._upkeep.values()))

    def _record_graph(self, kind: Kind, record: GraphRecord) -> None:
        self._store.write_and_wait(lambda writer: writer.record_graph(kind.value, record))

    def _close(self) -> None:
        for upkeep in self._upkeep.values():
            upkeep.stop()
        self._building.shutdown()
        for upkeep in self._upkeep.values():
            upkeep.save()
        self._store.close()
        self._lock.release()


def _remembered(directory: Path) -> float:
    """The store's own time as of its last commit."""
    if is_new(directory / FILE):
        return 0.0
    with closing(Reader(directory / FILE)) as reader:
        return float(reader.state().clock)


def _decode_by_default(encoded: bytes, field: str) -> Picture:
    return decode_picture(encoded, PictureLimits(), field)


def _run_all(upkeeps: list[Upkeep]) -> None:
    for upkeep in upkeeps:
        upkeep.run()


def _picture_bytes(draft: Draft) -> int:
    return sum(map(len, draft.pictures))
