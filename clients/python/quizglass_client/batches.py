"""Cuts a stream of entries into batches. Every batch is one call, so that what is reported as added is on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from quizglass import values
from quizglass.convert import to_value
from quizglass.v1 import knowledge_pb2
from quizglass.values import Refused
from quizglass_client import requests
from quizglass_client.channel import MAX_SENT_BYTES
from quizglass_client.errors import InvalidRequest
from quizglass_client.types import AddReport, Entry

# Requests of a batch are held in memory until they are sent.
_MAX_BATCH_BYTES = 64 * 1024 * 1024

Known = Callable[[values.Entry, Sequence[bytes]], bool]
"""Whether the server has an entry with these pictures, encoded, just so, which is not sent then."""


def none_known(_: values.Entry, __: Sequence[bytes]) -> bool:
    """Every entry is sent."""
    return False


@dataclass(slots=True)
class Batch:
    """Entries ready to be sent, and those that cannot be."""

    requests: list[knowledge_pb2.AddEntriesRequest] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    """Position of each request among all entries."""
    refused: list[Refused] = field(default_factory=list)
    """Entries that the client itself cannot send: a picture file is missing, say."""
    unchanged: int = 0
    """Entries that the server has just so, which are not sent."""

    def report(self, response: knowledge_pb2.AddEntriesResponse | None) -> AddReport:
        """What came of the batch; `response` is None when there was nothing to send."""
        refused = list(self.refused)
        if response is not None:
            refused.extend(Refused(self.indexes[r.index], r.id, r.field, r.message) for r in response.refused)
        refused.sort(key=lambda entry: entry.index)
        known = self.unchanged
        if response is None:
            return AddReport(known, tuple(refused), unchanged=known)
        created, changed, unchanged = response.created, response.changed, response.unchanged + known
        return AddReport(response.added + known, tuple(refused), created, changed, unchanged)

    @property
    def size(self) -> int:
        """How many entries it stands for."""
        return len(self.indexes) + len(self.refused) + self.unchanged


def batches(entries: Iterable[Entry], side: int, count: int, known: Known = none_known) -> Iterator[Batch]:
    """Batches of up to `count` entries, their pictures no larger than `side` pixels a side, without those `known`.

    Raises:
        ValueError: `count` is under 1.
    """
    if count < 1:
        raise ValueError(f"batch: {count} is not 1 or more")
    batch, size = Batch(), 0
    for index, entry in enumerate(entries):
        try:
            request = _request(entry, side)
        except InvalidRequest as error:
            batch.refused.append(Refused(index, entry.id, error.field, error.message.removeprefix(f"{error.field}: ")))
        else:
            if known(to_value(request.entry, values.Entry), request.entry.pictures):
                batch.unchanged += 1
            else:
                batch.requests.append(request)
                batch.indexes.append(index)
                size += request.ByteSize()
        if batch.size >= count or size > _MAX_BATCH_BYTES:
            yield batch
            batch, size = Batch(), 0
    if batch.size:
        yield batch


async def batches_on_thread(entries: Iterable[Entry], side: int, count: int, known: Known) -> AsyncIterator[Batch]:
    """`batches`, with `entries` iterated on a worker thread."""
    pieces = batches(entries, side, count, known)
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


def _request(entry: Entry, side: int) -> knowledge_pb2.AddEntriesRequest:
    request = requests.add(entry, side)
    if (size := request.ByteSize()) > MAX_SENT_BYTES:
        raise InvalidRequest.of("pictures", f"the entry has {size} bytes, more than {MAX_SENT_BYTES}; send fewer")
    return request
