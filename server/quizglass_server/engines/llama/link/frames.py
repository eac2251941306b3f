"""Calls over a Unix socket: records in small frames, many calls on one connection.

A frame is its payload's length and the call's number (4 bytes each, little endian), its kind (1 byte) and the payload,
which is a record (`records`) or nothing:

    CALL     to the server    method name and arguments
    CANCEL   to the server    nobody waits any more; it may cross the end of the call
    ITEM     to the client    a response
    END      to the client    there are no more responses
    FAILED   to the client    what went wrong, instead of more responses

A call here costs a tenth of what it costs over gRPC, which the answer of a small model is too short to hide. Both ends
are of one version and trust each other; a frame that makes no sense ends the connection. Knows no methods.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import IntEnum
from itertools import count
from struct import Struct
from typing import Any, Self, cast

from quizglass_server.engines.llama.link.records import decode, encode

_HEADER = Struct("<IIB")
_MOST_BYTES = 64 << 20
"""Most bytes of a payload: a prompt may carry its picture as raw pixels, 3 MiB for 1024 x 1024."""
logger = logging.getLogger(__name__)

Handler = Callable[[str, list[Any]], AsyncGenerator[object, None]]
"""Method and arguments to responses."""


class Kind(IntEnum):
    """What a frame says: a call begins or is cancelled; of a call a response, its end or its failure."""

    CALL = 1
    CANCEL = 2
    ITEM = 3
    END = 4
    FAILED = 5


class LinkLost(Exception):
    """The connection ended before the call did."""


class FrameTooLarge(Exception):
    """What was to be sent is more than a frame may hold; nothing of it was."""


class CallFailed(Exception):
    """The other end says that the call failed; `failure` is what it said."""

    def __init__(self, failure: Any) -> None:
        super().__init__("the call failed")
        self.failure = failure


class Frames(asyncio.Protocol, ABC):
    """One end of a connection: frames in and out."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._arrived = bytearray()
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = cast("asyncio.WriteTransport", transport)

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        self._transport = None
        self._writable.set()

    def pause_writing(self) -> None:
        """The other end reads too slowly."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The other end has caught up."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Take in what has arrived, frame by frame."""
        arrived = self._arrived
        arrived += data
        start = 0
        while len(arrived) - start >= _HEADER.size:
            length, number, kind = _HEADER.unpack_from(arrived, start)
            if length > _MOST_BYTES or not Kind.CALL <= kind <= Kind.FAILED:
                logger.error("a frame that makes no sense: kind %d of %d bytes; the connection ends", kind, length)
                self.close()
                return
            end = start + _HEADER.size + length
            if len(arrived) < end:
                break
            payload = bytes(arrived[start + _HEADER.size : end])
            start = end
            try:
                value = decode(payload) if payload else None
            except ValueError:
                logger.exception("a frame that holds no record; the connection ends")
                self.close()
                return
            self.frame_received(Kind(kind), number, value)
        del arrived[:start]

    @abstractmethod
    def frame_received(self, kind: Kind, number: int, value: Any) -> None:
        """A whole frame has arrived."""

    def send(self, kind: Kind, number: int, value: object = None) -> None:
        """Send a frame; nothing happens when the connection is gone.

        Raises:
            TypeError: the value cannot be sent.
            FrameTooLarge: it is too much.
        """
        if self._transport is not None:
            payload = b"" if value is None else encode(value)
            if len(payload) > _MOST_BYTES:
                raise FrameTooLarge(f"{len(payload) >> 20} MiB at once; {_MOST_BYTES >> 20} at most can be sent")
            self._transport.write(_HEADER.pack(len(payload), number, kind) + payload)

    def close(self) -> None:
        """End the connection without waiting for anything."""
        if self._transport is not None:
            self._transport.abort()


class Call:
    """A call that was sent: its responses as they come."""

    def __init__(self, link: Link, number: int) -> None:
        self._link = link
        self._number = number
        self._items: deque[Any] = deque()
        self._end: Exception | None = None
        self._arrived: asyncio.Future[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        """The next response.

        Raises:
            CallFailed: the other end said so.
            LinkLost: the connection ended.
            Exception: whatever `fail` was given.
        """
        while not self._items:
            if self._end is not None:
                raise self._end
            self._arrived = asyncio.get_running_loop().create_future()
            await self._arrived
        return self._items.popleft()

    def take(self, item: Any) -> None:
        """A response has arrived."""
        self._items.append(item)
        self._wake()

    def fail(self, error: Exception) -> None:
        """Nothing more will come; what has come already is given first."""
        if self._end is None:
            self._end = error
            self._wake()

    def cancel(self) -> None:
        """Nobody waits any more; nothing happens when the call has ended."""
        self._link.forget(self._number)

    def leave(self) -> None:
        """The last response was taken: nobody waits for the end of the call, which is about to come."""
        self._link.forget(self._number, told=False)

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


class Link(Frames):
    """The client's end."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        """Make an end; `on_lost` is called once, when the connection is gone."""
        super().__init__()
        self._on_lost = on_lost
        self._calls: dict[int, Call] = {}
        self._numbers = count()

    def call(self, method: str, *arguments: object) -> Call:
        """Begin a call.

        Raises:
            TypeError: an argument cannot be sent.
            FrameTooLarge: they are too much.
        """
        number = next(self._numbers) & 0xFFFFFFFF
        call = Call(self, number)
        if self._transport is None:
            call.fail(LinkLost())
            return call
        self.send(Kind.CALL, number, (method, *arguments))
        self._calls[number] = call
        return call

    def forget(self, number: int, *, told: bool = True) -> None:
        """Nobody waits for a call any more, of which the other end is told."""
        if self._calls.pop(number, None) is not None and told:
            self.send(Kind.CANCEL, number)

    def lose(self) -> None:
        """End every call and the connection."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.fail(LinkLost())
        self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """The other end is gone: end every call."""
        super().connection_lost(error)
        self.lose()
        self._on_lost()

    def frame_received(self, kind: Kind, number: int, value: Any) -> None:
        """Give a frame to its call; one that was cancelled is not there any more."""
        call = self._calls.get(number)
        if call is None:
            return
        if kind is Kind.ITEM:
            call.take(value)
            return
        del self._calls[number]
        call.fail(CallFailed(value) if kind is Kind.FAILED else StopAsyncIteration())


class Answering(Frames):
    """The server's end: a task for each call, cancelled when nobody waits for it."""

    def __init__(self, handler: Handler, explain: Callable[[Exception], object]) -> None:
        """Make an end.

        Args:
            handler: answers calls.
            explain: what the other end is told of an error.
        """
        super().__init__()
        self._handler = handler
        self._explain = explain
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody waits for anything any more."""
        super().connection_lost(error)
        for task in tuple(self._tasks.values()):
            task.cancel()

    def frame_received(self, kind: Kind, number: int, value: Any) -> None:
        """Begin a call, or end one."""
        if kind is Kind.CALL:
            answering = self._answer(number, value)
            task = self._tasks[number] = asyncio.get_running_loop().create_task(answering)
            # Not in the task itself: one that is cancelled before it begins never gets there.
            task.add_done_callback(lambda _: self._tasks.pop(number, None))
        elif number in self._tasks:
            self._tasks[number].cancel()

    async def _answer(self, number: int, call: list[Any]) -> None:
        try:
            method, *arguments = call
            async with aclosing(self._handler(method, arguments)) as items:
                async for item in items:
                    await self._writable.wait()
                    self.send(Kind.ITEM, number, item)
            self.send(Kind.END, number)
        except Exception as error:
            self.send(Kind.FAILED, number, self._explain(error))
