"""Messages of `client.memory`, for both clients."""

from __future__ import annotations

from datetime import datetime

from quizglass.v1 import memory_pb2
from quizglass_client.convert import seconds, sendable
from quizglass_client.errors import InvalidRequest
from quizglass_client.sightings import MemoryStats, Sighting

Moment = int | datetime
"""Seconds since 1970, or a time; one without a time zone is in this machine's."""

_ORDERS = {
    "": memory_pb2.SIGHTING_ORDER_UNSPECIFIED,
    "latest": memory_pb2.SIGHTING_ORDER_LATEST,
    "best": memory_pb2.SIGHTING_ORDER_BEST,
}


def sighting_filter(session_id: str, frame: bytes, since: Moment, until: Moment) -> memory_pb2.SightingFilter:
    """Which sightings are meant.

    Raises:
        InvalidRequest: it cannot be sent.
    """
    return memory_pb2.SightingFilter(
        time_from=_seconds(since, "filter.time_from"),
        time_until=_seconds(until, "filter.time_until"),
        session_id=sendable(session_id, "filter.session_id"),
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
        session_id=message.session_id,
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
