"""MemoryService: convert, call, convert."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import replace

from quizglass.convert import to_message, words
from quizglass.v1 import memory_pb2, memory_pb2_grpc
from quizglass.values import Order
from quizglass_server.assistant.asking import MAX_SESSION_CHARS
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.domain import checks
from quizglass_server.domain.sightings import SightingFilter, SightingHit, SightingQuery
from quizglass_server.errors import InvalidInput, MemoryOff
from quizglass_server.knowledge.memory import SightingMemory
from quizglass_server.rpc.frames import FrameStore
from quizglass_server.rpc.transport.guard import Context, Guard, due_with, to_its_end

logger = logging.getLogger(__name__)
_DEFAULT_RESULTS, _MAX_RESULTS = 5, 100
_MAX_ID, _MAX_TEXT = 64, 2000
_MAX_TIME = 253_402_300_799  # the last second of the year 9999
_ORDERS = {number: Order(word or Order.LATEST) for word, number in words(memory_pb2.SightingOrder.DESCRIPTOR).items()}


class MemoryServicer(memory_pb2_grpc.MemoryServiceServicer):
    """Searches and forgets what turns asked to remember."""

    def __init__(self, memory: SightingMemory | None, assistant: Assistant, frames: FrameStore, guard: Guard) -> None:
        self._memory = memory
        self._assistant = assistant
        self._frames = frames
        self._guard = guard

    async def SearchMemory(
        self, request: memory_pb2.SearchMemoryRequest, context: Context
    ) -> memory_pb2.SearchMemoryResponse:
        """Sightings by picture, by text, or the latest."""
        async with self._guard(context, "SearchMemory"):
            with due_with(context):
                return await self._search(request)

    async def _search(self, request: memory_pb2.SearchMemoryRequest) -> memory_pb2.SearchMemoryResponse:
        async with self._frames.received(request.ByteSize()):
            self._there()
            text = checks.text(request.text, "text", longest=_MAX_TEXT, required=request.text != "")
            query = _query(request)
            async with self._assistant.admission.admit():
                picture = await self._frames.decode(request.picture, "picture") if request.picture else None
                hits = await self._assistant.search_memory(text, picture, query)
            logger.info("sightings read", extra={"audit": True, "count": len(hits)})
            now = int(time.time())
            return memory_pb2.SearchMemoryResponse(sightings=[_message(hit, now) for hit in hits])

    async def GetThumbnail(
        self, request: memory_pb2.GetThumbnailRequest, context: Context
    ) -> memory_pb2.GetThumbnailResponse:
        """The small picture of one sighting."""
        async with self._guard(context, "GetThumbnail"):
            sighting = checks.text(request.id, "id", longest=_MAX_ID)
            jpeg = await self._there().thumbnail(sighting)
            logger.info("thumbnail read", extra={"audit": True, "count": 1})
            return memory_pb2.GetThumbnailResponse(jpeg=jpeg)

    async def ForgetMemory(
        self, request: memory_pb2.ForgetMemoryRequest, context: Context
    ) -> memory_pb2.ForgetMemoryResponse:
        """Forget sightings."""
        async with self._guard(context, "ForgetMemory"):
            memory, wanted = self._there(), _filter(request.filter)
            if (wanted == SightingFilter()) is not request.everything:
                raise InvalidInput("filter", "give what is to be forgotten: times, a session, a frame, or everything")
            forgotten, sequence = await to_its_end(self._forget(memory, wanted))
            return memory_pb2.ForgetMemoryResponse(forgotten=forgotten, sequence=sequence)

    async def _forget(self, memory: SightingMemory, wanted: SightingFilter) -> tuple[int, int]:
        forgotten, sequence = await memory.forget(wanted)
        logger.info("sightings forgotten", extra={"audit": True, "count": forgotten, "sequence": sequence})
        await self._assistant.forget_prompts()  # which had the questions and answers, too
        return forgotten, sequence

    async def CompactMemory(
        self, request: memory_pb2.CompactMemoryRequest, context: Context
    ) -> memory_pb2.CompactMemoryResponse:
        """Remove from the files what is forgotten."""
        async with self._guard(context, "CompactMemory"):
            return memory_pb2.CompactMemoryResponse(sequence=await to_its_end(_compact(self._there())))

    async def GetMemoryStats(
        self, request: memory_pb2.GetMemoryStatsRequest, context: Context
    ) -> memory_pb2.GetMemoryStatsResponse:
        """How much is remembered, and what became of the rest."""
        async with self._guard(context, "GetMemoryStats"):
            return to_message(await self._there().stats(), memory_pb2.GetMemoryStatsResponse)

    def _there(self) -> SightingMemory:
        if self._memory is None:
            raise MemoryOff
        return self._memory


async def _compact(memory: SightingMemory) -> int:
    sequence = await memory.compact()
    logger.info(
        "memory compacted", extra={"audit": True, "count": (await memory.stats()).sightings, "sequence": sequence}
    )
    return sequence


def _query(request: memory_pb2.SearchMemoryRequest) -> SightingQuery:
    if request.order not in _ORDERS:
        raise InvalidInput("order", f"there is no order {request.order}")
    if not -1 <= request.least_score <= 1 or math.isnan(request.least_score):
        raise InvalidInput("least_score", f"{request.least_score} is not between -1 and 1")
    return SightingQuery(
        checks.within(request.limit or _DEFAULT_RESULTS, 1, _MAX_RESULTS, "limit"),
        _filter(request.filter),
        _ORDERS[request.order],
        request.least_score or None,
    )


def _filter(message: memory_pb2.SightingFilter) -> SightingFilter:
    """What is meant. A session of spaces alone is refused: left out, it would mean those of all sessions."""
    if message.frame_sha256:
        checks.sha256(message.frame_sha256, "filter.frame_sha256")
    return SightingFilter(
        checks.within(message.time_from, 0, _MAX_TIME, "filter.time_from"),
        checks.within(message.time_until, 0, _MAX_TIME, "filter.time_until"),
        checks.text(
            message.session_id, "filter.session_id", longest=MAX_SESSION_CHARS, required=message.session_id != ""
        ),
        message.frame_sha256,
    )


def _message(hit: SightingHit, now: int) -> memory_pb2.Sighting:
    shown, age = hit.sighting.thumbnail_sha256 is not None, max(0, now - hit.sighting.time)
    return to_message(replace(hit.sighting, age=age, score=hit.score, has_thumbnail=shown), memory_pb2.Sighting)
