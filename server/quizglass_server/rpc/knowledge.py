"""KnowledgeService: convert, call, convert."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial

from quizglass.convert import to_message, to_value, words
from quizglass.v1 import knowledge_pb2, knowledge_pb2_grpc, types_pb2
from quizglass.values import Deleted, Entry, Filter, SearchMode
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.domain import checks
from quizglass_server.domain.entries import PicturedEntry, SearchOptions
from quizglass_server.errors import InvalidInput, NotFound, Overloaded, Stopping, Unfinished
from quizglass_server.knowledge.interface import FoundKnowledge, KnowledgeStore
from quizglass_server.rpc.frames import FrameStore
from quizglass_server.rpc.transport.guard import Context, Guard, due_with, to_its_end
from quizglass_server.scheduling.allowances import check_engines, current_allowances

logger = logging.getLogger(__name__)
_DEFAULT_PAGE, _MAX_PAGE = 100, 1000
_DEFAULT_RESULTS, _MAX_RESULTS = 5, 100
_MAX_ID, MAX_TEXT = 200, 2000
MAX_MORE_PICTURES = 8
MAX_FILTERED, MAX_FILTER_TEXT = 100, 500
_MODE_WORDS = words(knowledge_pb2.SearchMode.DESCRIPTOR)
_MODES = {number: SearchMode(word or SearchMode.HYBRID) for word, number in _MODE_WORDS.items()}
# gRPC clients take messages of 4 MiB unless told otherwise; one entry at its limits has half of that.
_MAX_PAGE_BYTES = 2 * 1024 * 1024


class KnowledgeServicer(knowledge_pb2_grpc.KnowledgeServiceServicer):
    """Adds, reads, deletes and searches entries.

    Args:
        knowledge: what is changed and listed.
        found: what is read and searched: that, and what is shared with it.
        assistant: searches.
        frames: decodes pictures to search for.
        guard: stands before each call.
        stored: bytes on the disk that count as the tenant's; takes a while.
    """

    def __init__(
        self,
        knowledge: KnowledgeStore,
        found: FoundKnowledge,
        assistant: Assistant,
        frames: FrameStore,
        guard: Guard,
        stored: Callable[[], int] = lambda: 0,
    ) -> None:
        self._stored = stored
        self._knowledge = knowledge
        self._found = found
        self._assistant = assistant
        self._frames = frames
        self._guard = guard
        self._came = self._coming = 0
        """Bytes of entries that ever came, and of the streams under way, which are not all stored yet."""
        self._paging = asyncio.Lock()
        """Pages are made one after the other: many at once would hold up the event loop for as long as all together."""

    async def AddEntries(  # name of the RPC
        self, request_iterator: AsyncIterator[knowledge_pb2.AddEntriesRequest], context: Context
    ) -> knowledge_pb2.AddEntriesResponse:
        """Add or replace entries; durable when the response names them."""
        async with self._guard(context, "AddEntries"):
            check_engines()
            limited = any(each.quota.stored_bytes is not None for each in current_allowances())
            stored = await asyncio.to_thread(self._stored) if limited else 0
            count = partial(self._count, stored, self._came - self._coming)
            entries = _Entries(request_iterator, self._frames, self._guard, count)
            try:
                report = await self._knowledge.add(entries)
            finally:
                self._coming -= entries.bytes
            if entries.cut_off is not None:
                entries.cut_off.metadata["added"] = str(report.added)
                raise entries.cut_off
            refused = [
                knowledge_pb2.RefusedEntry(id=r.id, index=entries.position(r.index), field=r.field, message=r.message)
                for r in report.refused
            ]
            every = sorted([*refused, *entries.refused], key=lambda refusal: refusal.index)
            return knowledge_pb2.AddEntriesResponse(
                added=report.added,
                refused=every,
                created=report.added - report.changed - report.unchanged,
                changed=report.changed,
                unchanged=report.unchanged,
            )

    def _count(self, stored: int, since: int, size: int) -> None:
        """Check that a message fits beside the stored bytes and all that came since, and count it."""
        for each in current_allowances():
            each.stored(stored + self._came - since)
        self._came += size
        self._coming += size

    async def GetEntry(
        self, request: knowledge_pb2.GetEntryRequest, context: Context
    ) -> knowledge_pb2.GetEntryResponse:
        """One entry."""
        async with self._guard(context, "GetEntry"):
            entry = await self._found.get(checks.text(request.id, "id", longest=_MAX_ID))
            return knowledge_pb2.GetEntryResponse(entry=to_message(entry, knowledge_pb2.Entry))

    async def ListEntries(
        self, request: knowledge_pb2.ListEntriesRequest, context: Context
    ) -> knowledge_pb2.ListEntriesResponse:
        """A page of entries, in order of id."""
        async with self._guard(context, "ListEntries"):
            size = checks.within(request.page_size or _DEFAULT_PAGE, 1, _MAX_PAGE, "page_size")
            after = checks.text(request.page_token, "page_token", longest=_MAX_ID, required=False)
            async with self._paging:
                entries = await self._knowledge.list(after, size + 1)
                page = _fitting([to_message(entry, knowledge_pb2.Entry) for entry in entries[:size]])
            logger.info("entries listed", extra={"audit": True, "count": len(page)})
            return knowledge_pb2.ListEntriesResponse(
                entries=page,
                next_page_token=page[-1].id if len(page) < len(entries) else "",
                total=self._knowledge.count(),
            )

    async def DeleteEntry(
        self, request: knowledge_pb2.DeleteEntryRequest, context: Context
    ) -> knowledge_pb2.DeleteEntryResponse:
        """Delete one entry with its chunks and pictures."""
        async with self._guard(context, "DeleteEntry"):
            entry_id = checks.text(request.id, "id", longest=_MAX_ID)
            try:
                gone = await to_its_end(self._delete(entry_id))
            except NotFound as error:
                if self._found is self._knowledge:
                    raise
                await self._found.get(entry_id)
                told = f"entry {entry_id!r} is of the knowledge that all tenants share, and none of them can delete it"
                raise NotFound(told, entry=entry_id) from error
            return to_message(gone, knowledge_pb2.DeleteEntryResponse)

    async def _delete(self, id: str) -> Deleted:
        gone = await self._knowledge.delete(id)
        logger.info("entry deleted", extra={"audit": True, "count": 1, "sequence": gone.sequence})
        return gone

    async def GetPicture(
        self, request: knowledge_pb2.GetPictureRequest, context: Context
    ) -> knowledge_pb2.GetPictureResponse:
        """One stored picture."""
        async with self._guard(context, "GetPicture"):
            sha256 = checks.sha256(request.sha256, "sha256")
            return knowledge_pb2.GetPictureResponse(encoded=await self._found.picture(sha256))

    async def CompactEntries(
        self, request: knowledge_pb2.CompactEntriesRequest, context: Context
    ) -> knowledge_pb2.CompactEntriesResponse:
        """Remove what deleted entries have left in the files."""
        async with self._guard(context, "CompactEntries"):
            return knowledge_pb2.CompactEntriesResponse(sequence=await to_its_end(self._compact()))

    async def _compact(self) -> int:
        sequence = await self._knowledge.compact()
        logger.info(
            "knowledge compacted", extra={"audit": True, "count": self._knowledge.count(), "sequence": sequence}
        )
        return sequence

    async def SearchEntries(
        self, request: knowledge_pb2.SearchEntriesRequest, context: Context
    ) -> knowledge_pb2.SearchEntriesResponse:
        """Search by text, by picture, or by both."""
        async with self._guard(context, "SearchEntries"):
            with due_with(context):
                return await self._search(request)

    async def _search(self, request: knowledge_pb2.SearchEntriesRequest) -> knowledge_pb2.SearchEntriesResponse:
        async with self._frames.received(request.ByteSize()):
            if not request.text and not request.picture:
                raise InvalidInput("text", "give a text, a picture, or both to search for")
            text = checks.text(request.text, "text", longest=MAX_TEXT, required=not request.picture)
            limit = checks.within(request.limit or _DEFAULT_RESULTS, 1, _MAX_RESULTS, "limit")
            checks.at_most(len(request.more_pictures), MAX_MORE_PICTURES, "more_pictures")
            options = _search_options(request)
            async with self._assistant.admission.admit():
                picture = await self._frames.decode(request.picture, "picture") if request.picture else None
                more = [
                    await self._frames.decode(encoded, f"more_pictures[{number}]")
                    for number, encoded in enumerate(request.more_pictures)
                ]
                evidence = await self._assistant.search(text, picture, limit, options, more)
            return knowledge_pb2.SearchEntriesResponse(
                results=[to_message(item, types_pb2.Evidence) for item in evidence]
            )


def _fitting(entries: list[knowledge_pb2.Entry]) -> list[knowledge_pb2.Entry]:
    """As many of the first entries as one message of a usual client holds, at least one."""
    size = 0
    for count, entry in enumerate(entries):
        size += entry.ByteSize()
        if size > _MAX_PAGE_BYTES and count:
            return entries[:count]
    return entries


class _Entries:
    """The entries of a stream. A message that is none is refused at its position, as an entry that is wrong."""

    def __init__(
        self,
        requests: AsyncIterator[knowledge_pb2.AddEntriesRequest],
        frames: FrameStore,
        guard: Guard,
        count: Callable[[int], None],
    ) -> None:
        self._count = count
        self.bytes = 0
        """Of the messages that came."""
        self._requests = requests
        self._frames = frames
        self._guard = guard
        self.refused: list[knowledge_pb2.RefusedEntry] = []
        self.cut_off: Unfinished | Overloaded | Stopping | None = None
        """Why the stream ended before its client ended it; what came before is kept."""

    async def __aiter__(self) -> AsyncIterator[PicturedEntry]:
        for position in itertools.count():
            try:
                async with self._guard.patient():
                    request = await anext(self._requests)
                check_engines()
                size = request.ByteSize()
                self._count(size)
                self.bytes += size
                async with self._frames.received(request.ByteSize()):
                    yield PicturedEntry(to_value(request.entry, Entry), tuple(request.entry.pictures))
            except StopAsyncIteration:
                return
            except InvalidInput as error:
                refusal = knowledge_pb2.RefusedEntry(index=position, field=_of_entry(error), message=error.description)
                self.refused.append(refusal)
            except (Unfinished, Overloaded, Stopping) as error:
                self.cut_off = error
                return

    def position(self, index: int) -> int:
        """Position in the stream of the entry that is the `index`th of those that could be parsed."""
        for refusal in self.refused:
            index += refusal.index <= index
        return index


def _of_entry(error: InvalidInput) -> str:
    """The field of an entry that a message was refused for; "entry" where it is the whole of it."""
    _, _, field = error.field.partition("entry.")
    return field or "entry"


def _search_options(request: knowledge_pb2.SearchEntriesRequest) -> SearchOptions:
    """How a search is to be answered.

    Raises:
        InvalidInput: a filter is too long, or the mode is unknown.
    """
    if request.mode not in _MODES:
        raise InvalidInput("mode", f"there is no search mode {request.mode}")
    filter_ = Filter(
        dict(_short_items(request.filter.attributes)),
        _short(request.filter.kinds, "filter.kinds"),
        _short(request.filter.sources, "filter.sources"),
        _short(request.filter.languages, "filter.languages"),
        request.filter.time_from,
        request.filter.time_until,
    )
    return SearchOptions(filter_, _MODES[request.mode], request.per_entry, request.fold_near_duplicates)


def _short(values: Sequence[str], field: str) -> tuple[str, ...]:
    checks.at_most(len(values), MAX_FILTERED, field)
    return tuple(
        checks.text(value, f"{field}[{number}]", longest=MAX_FILTER_TEXT) for number, value in enumerate(values)
    )


def _short_items(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    checks.at_most(len(values), MAX_FILTERED, "filter.attributes")
    for key, value in values.items():
        yield (
            checks.text(key, "filter.attributes", longest=MAX_FILTER_TEXT),
            checks.text(value, f"filter.attributes[{key[:60]}]", longest=MAX_FILTER_TEXT),
        )
