"""`client.memory`: searches and forgets what turns with `remember=True` left behind, for both clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from quizglass.v1 import memory_pb2
from quizglass_client.convert import seconds, sendable
from quizglass_client.errors import InvalidRequest, translated
from quizglass_client.sightings import Forgotten, MemoryStats, Sighting
from quizglass_client.timing import Limits
from quizglass_client.types import PictureLike

Moment = int | datetime
"""Seconds since 1970, or a time; one without a time zone is in this machine's."""

_ORDERS = {
    "": memory_pb2.SIGHTING_ORDER_UNSPECIFIED,
    "latest": memory_pb2.SIGHTING_ORDER_LATEST,
    "best": memory_pb2.SIGHTING_ORDER_BEST,
}


class Memory:
    """The visual memory of a `Client`'s server. Every call raises NotSupported when the server has none."""

    def __init__(self, stub: Any, limits: Limits, encoded: Callable[[PictureLike | None], bytes | None]) -> None:
        """For `Client` only."""
        self._stub = stub
        self._limits = limits
        self._encoded = encoded

    def search(
        self,
        picture: PictureLike | None = None,
        text: str = "",
        *,
        limit: int = 5,
        order: str = "",
        session: str = "",
        frame: bytes = b"",
        since: Moment = 0,
        until: Moment = 0,
        least_score: float = 0.0,
    ) -> list[Sighting]:
        """Sightings that look like a picture, or fit a text, or (with neither) the latest.

        Args:
            picture: what to look for.
            text: words to look for in questions, answers and names; not together with a picture.
            limit: sightings wanted, 1 to 100.
            order: "latest" first (also the default, empty), or "best".
            session: only of this one.
            frame: only of the frame of this SHA-256.
            since: at or after this time; 0: any.
            until: before this time; 0: any.
            least_score: least cosine of a search by picture; 0: what the server's bundle takes for the same thing.
        """
        with translated():
            filter_ = sighting_filter(session, frame, since, until)
            request = search_request(self._encoded(picture), text, limit, order, filter_, least_score)
            found = self._stub.SearchMemory(request, timeout=self._limits.call)
            return [sighting(message) for message in found.sightings]

    def thumbnail(self, id: str) -> bytes:
        """The small picture of a sighting, JPEG.

        Raises:
            NotFound: there is no such sighting any more, or it has none.
        """
        with translated():
            request = memory_pb2.GetThumbnailRequest(id=sendable(id, "id"))
            return bytes(self._stub.GetThumbnail(request, timeout=self._limits.call).jpeg)

    def forget(
        self,
        *,
        session: str = "",
        frame: bytes = b"",
        since: Moment = 0,
        until: Moment = 0,
        everything: bool = False,
    ) -> Forgotten:
        """Forget the sightings that fit all that is given, durably; arguments as in `search`.

        Args:
            everything: forget all of them; nothing else may be given.
        """
        with translated():
            request = forget_request(sighting_filter(session, frame, since, until), everything)
            done = self._stub.ForgetMemory(request, timeout=self._limits.call)
            return Forgotten(done.forgotten, done.sequence)

    def compact(self) -> int:
        """Remove what is forgotten from the server's files; the sequence number up to which that is done."""
        with translated():
            return int(self._stub.CompactMemory(memory_pb2.CompactMemoryRequest()).sequence)

    def stats(self) -> MemoryStats:
        """How much is remembered."""
        with translated():
            return stats(self._stub.GetMemoryStats(memory_pb2.GetMemoryStatsRequest(), timeout=self._limits.call))


class AsyncMemory:
    """The visual memory of an `AsyncClient`'s server; calls, arguments and errors as in `Memory`."""

    def __init__(
        self, stub: Any, limits: Limits, encoded: Callable[[PictureLike | None], Awaitable[bytes | None]]
    ) -> None:
        """For `AsyncClient` only."""
        self._stub = stub
        self._limits = limits
        self._encoded = encoded

    async def search(
        self,
        picture: PictureLike | None = None,
        text: str = "",
        *,
        limit: int = 5,
        order: str = "",
        session: str = "",
        frame: bytes = b"",
        since: Moment = 0,
        until: Moment = 0,
        least_score: float = 0.0,
    ) -> list[Sighting]:
        """Sightings that look like a picture, or fit a text, or (with neither) the latest."""
        with translated():
            filter_ = sighting_filter(session, frame, since, until)
            request = search_request(await self._encoded(picture), text, limit, order, filter_, least_score)
            found = await self._stub.SearchMemory(request, timeout=self._limits.call)
            return [sighting(message) for message in found.sightings]

    async def thumbnail(self, id: str) -> bytes:
        """The small picture of a sighting, JPEG."""
        with translated():
            request = memory_pb2.GetThumbnailRequest(id=sendable(id, "id"))
            return bytes((await self._stub.GetThumbnail(request, timeout=self._limits.call)).jpeg)

    async def forget(
        self,
        *,
        session: str = "",
        frame: bytes = b"",
        since: Moment = 0,
        until: Moment = 0,
        everything: bool = False,
    ) -> Forgotten:
        """Forget the sightings that fit all that is given, durably."""
        with translated():
            request = forget_request(sighting_filter(session, frame, since, until), everything)
            done = await self._stub.ForgetMemory(request, timeout=self._limits.call)
            return Forgotten(done.forgotten, done.sequence)

    async def compact(self) -> int:
        """Remove what is forgotten from the server's files; the sequence number up to which that is done."""
        with translated():
            return int((await self._stub.CompactMemory(memory_pb2.CompactMemoryRequest())).sequence)

    async def stats(self) -> MemoryStats:
        """How much is remembered."""
        with translated():
            request = memory_pb2.GetMemoryStatsRequest()
            return stats(await self._stub.GetMemoryStats(request, timeout=self._limits.call))


def sighting_filter(session: str, frame: bytes, since: Moment, until: Moment) -> memory_pb2.SightingFilter:
    """Which sightings are meant.

    Raises:
        InvalidRequest: it cannot be sent.
    """
    return memory_pb2.SightingFilter(
        time_from=_seconds(since, "filter.time_from"),
        time_until=_seconds(until, "filter.time_until"),
        session_id=sendable(session, "filter.session_id"),
        frame_sha256=frame,
    )


def search_request(
    picture: bytes | None,
    words: str,
    limit: int,
    order: str,
    filter_: memory_pb2.SightingFilter,
    least_score: float,
) -> memory_pb2.SearchMemoryRequest:
    """A search by an encoded picture, by text, or for the latest.

    Raises:
        InvalidRequest: it cannot be sent.
    """
    if order not in _ORDERS:
        raise InvalidRequest.of("order", f"there is no {order!r}; choose 'latest' or 'best'")
    if not 1 <= limit <= 100:
        raise InvalidRequest.of("limit", f"{limit} is not between 1 and 100")
    return memory_pb2.SearchMemoryRequest(
        picture=picture or b"",
        text=sendable(words, "text"),
        filter=filter_,
        limit=limit,
        order=_ORDERS[order],
        least_score=least_score,
    )


def forget_request(filter_: memory_pb2.SightingFilter, everything: bool) -> memory_pb2.ForgetMemoryRequest:
    """What is to be forgotten."""
    return memory_pb2.ForgetMemoryRequest(filter=filter_, everything=everything)


def sighting(message: memory_pb2.Sighting) -> Sighting:
    """One sighting."""
    return Sighting(
        id=message.id,
        time=message.time,
        age=message.age_s,
        session=message.session_id,
        frame_sha256=message.frame_sha256,
        question=message.question,
        answer=message.answer,
        recognised=tuple(message.recognised),
        expires_after=message.expires_after_s,
        score=message.score,
        has_thumbnail=message.has_thumbnail,
    )


def stats(message: memory_pb2.GetMemoryStatsResponse) -> MemoryStats:
    """How much is remembered."""
    return MemoryStats(
        sightings=message.sightings,
        bytes=message.bytes,
        oldest_time=message.oldest_time,
        latest_time=message.latest_time,
        ttl=message.ttl_s,
        max_sightings=message.max_sightings,
        max_bytes=message.max_bytes,
        waiting=message.waiting,
        remembered=message.remembered,
        dropped=message.dropped,
        failed=message.failed,
    )


def _seconds(moment: Moment, field: str) -> int:
    since = int(moment.timestamp()) if isinstance(moment, datetime) else moment
    if since < 0:
        raise InvalidRequest.of(field, f"{since} is no time in seconds since 1970")
    return seconds(since, field)
