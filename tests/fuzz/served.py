"""A server for inputs: the real services behind the real limits, before an assistant and stores that tests script."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NoReturn

import grpc
from google.protobuf.message import Message

from quizglass.values import MemoryStats
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.errors import InvalidInput, QuizglassError
from quizglass_server.knowledge.content.validation import checked_entry
from quizglass_server.rpc.requests.reader import RequestReader, method_of
from quizglass_server.rpc.server import start_rpc
from tests.support.rpc_fakes import Assistant, Knowledge, Report, Stage

MANY = 10_000


class Refused(Exception):
    """A call ended with an error."""


class Context:
    """What servicers ask of a call's context. An unexpected error is a failure of the server."""

    def time_remaining(self) -> float | None:
        return 5.0

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"

    async def send_initial_metadata(self, metadata: Iterable[tuple[str, str]]) -> None:
        pass

    async def abort_with_status(self, status: grpc.Status) -> NoReturn:
        assert status.code is not grpc.StatusCode.INTERNAL, status.details
        raise Refused(status.details)


class Searched(Assistant):
    """Finds no sightings."""

    async def search_memory(self, *_: object) -> Sequence[Any]:
        return []


class Checked(Knowledge):
    """Takes what a knowledge store does."""

    async def add(self, entries: AsyncIterable[PicturedEntry]) -> Report:
        report = Report()
        async for given in entries:
            try:
                checked_entry(given)
            except InvalidInput:
                continue
            report.added += 1
        return report


class NoMemory:
    """Keeps nothing."""

    async def forget(self, wanted: object) -> tuple[int, int]:
        return 0, 0

    async def thumbnail(self, sighting: str) -> bytes:
        return b""

    async def compact(self) -> int:
        return 0

    async def stats(self) -> MemoryStats:
        return MemoryStats(*[0] * len(fields(MemoryStats)))


class Served:
    """A server on an event loop of its own, which runs while something is done."""

    def __init__(self, **settings: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self._stage = Stage(Path(tempfile.mkdtemp(prefix="fuzz-")), frame_wait_s=0.01, **settings)
        services: Any = {"assistant": Searched(), "knowledge": Checked(), "memory": NoMemory()}
        self._stage.services = replace(self._stage.services, **services)
        self.rpc = self.do(start_rpc(self._stage.services))
        self._readers: dict[str, RequestReader] = {}

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end."""
        return self.loop.run_until_complete(work)

    def reader(self, path: str) -> RequestReader:
        """What reads a method's requests."""
        if path not in self._readers:
            self._readers[path] = self.rpc.limits.reader(method_of(path))
        return self._readers[path]

    def handler(self, path: str) -> Callable[..., Any]:
        """The servicer's method."""
        service, _, name = path.lstrip("/").partition("/")
        return next(getattr(each.servicer, name) for each in self.rpc.served if each.service.full_name == service)

    def close(self) -> None:
        """Stop, and end the event loop."""
        self.do(self.rpc.stop(0))
        self.do(self._stage.decoder.close())
        self.loop.close()


class Messages:
    """Requests of a stream, as gRPC's side of the server gives them to a servicer."""

    def __init__(self, reader: RequestReader, pieces: Iterable[bytes]) -> None:
        self._reader = reader
        self._pieces = iter(pieces)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        for raw in self._pieces:
            return await self._reader.message(raw)
        raise StopAsyncIteration


async def answered(responses: Any, most: int = MANY) -> list[Any]:
    """What a servicer answers before it ends or refuses, at most so many messages."""
    heard: list[Any] = []
    with suppress(Refused, QuizglassError):
        if not hasattr(responses, "__aiter__"):
            return [await responses]
        async with aclosing(responses):
            async for response in responses:
                heard.append(response)
                if len(heard) == most:
                    break
    return heard
