"""A knowledge store whose entries are sightings: what it needs beyond finding entries by id and by content."""

from __future__ import annotations

import builtins

from quizglass.values import Entry, Filter
from quizglass_server.knowledge.base import KnowledgeBase
from quizglass_server.knowledge.content.records import Change, EntryDraft
from quizglass_server.knowledge.database.reader import DatabaseReader

_ALL = Filter()


class SightingStore(KnowledgeBase):
    """Open with `open`; entries come by `keep`, finished, because a frame's vectors were made for its turn."""

    removed = 0
    """Entries that have gone since it was opened."""
    compacted = -1
    """As many had gone when its own files were last compacted; -1: they were not yet."""

    async def keep(self, draft: EntryDraft) -> None:
        """Write an entry; on return it is on disk and found."""
        await self._commit([draft])

    async def newest(self, limit: int, filter_: Filter = _ALL) -> builtins.list[Entry]:
        """Up to `limit` of the entries that pass a filter, those added last first."""
        await self._expire()

        def read(reader: DatabaseReader) -> builtins.list[Entry]:
            numbers = sorted(self._indexes.catalog.matching(filter_) - self._hidden, reverse=True)[:limit]
            entries = reader.entries(numbers)
            return [entries[number] for number in numbers if number in entries]

        return await self._store.read(read)

    async def discard(self, filter_: Filter = _ALL, *, keep: int = 0) -> tuple[int, int]:
        """Delete the entries that pass a filter but for the `keep` added last, in one commit.

        Returns:
            How many there were, and the number of the commit, for `compact`.
        """

        def read(reader: DatabaseReader) -> tuple[builtins.list[str], int]:
            numbers = sorted(self._indexes.catalog.matching(filter_))
            doomed = reader.entries(numbers[: max(0, len(numbers) - keep)])
            return [entry.id for entry in doomed.values()], reader.state().sequence

        await self._expire(again=bool(self._hidden))
        ids, sequence = await self._store.read(read)
        if not ids:
            return 0, sequence
        change = await self._store.write(lambda writer: writer.delete(ids, strict=False), self._follow)
        self._indexes.look_after()
        return len(change.gone), change.sequence

    async def empty_log(self) -> None:
        """Leave no deleted page in the database or its log.

        Raises:
            KnowledgeFailed: the log is being read; a later compaction does it.
        """
        await self._store.alone(lambda writer: writer.shrink())

    async def size(self) -> int:
        """Bytes that the entries take on the disk, without indexes."""
        return await self._store.read(DatabaseReader.size)

    async def ends(self) -> tuple[int, int]:
        """Times of the oldest and of the latest entry; zeros when there is none."""
        await self._expire()

        def read(reader: DatabaseReader) -> tuple[int, int]:
            numbers = sorted(set(reader.numbers()) - self._hidden)
            entries = reader.entries([numbers[0], numbers[-1]]) if numbers else {}
            times = sorted(entry.time for entry in entries.values())
            return (times[0], times[-1]) if times else (0, 0)

        return await self._store.read(read)

    async def _shrink(self) -> int:
        removed = self.removed
        sequence = await super()._shrink()
        self.compacted = removed
        return sequence

    def now(self) -> float:
        """The time by which entries expire, seconds since 1970."""
        return self._clock()

    def _follow(self, change: Change) -> None:
        super()._follow(change)
        self.removed += len(change.gone)
