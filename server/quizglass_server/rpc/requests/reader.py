"""Makes messages of the bytes of requests, once it is known that they are not too much to become messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from quizglass_server.errors import InvalidInput
from quizglass_server.rpc.requests.json_text import has_at_most
from quizglass_server.rpc.requests.packed import is_packed, most_unpacked, unpacked
from quizglass_server.rpc.requests.shape import MOST_FIELDS, CountLimits, RequestShape
from quizglass_server.rpc.requests.unreadable import Unreadable
from quizglass_server.scheduling.memory import WorkMemory

_TOKENS_OF_FIELD = 4
"""Of a field as JSON, at most: its name, its value, what opens it, and a comma."""
JSON_TIMES = 4
"""Bytes that one of JSON takes while it is read or written: as text, as values, and as a message."""
_AT_ONCE_BYTES = 256 * 1024

Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Bound:
    """What requests of a method may be at most."""

    most_bytes: int
    most_beside: int
    """Bytes of a request beside its pictures."""
    check_room: Callable[[], None] | None = None
    """Raises Overloaded when a call would be refused anyway: then its request need not be received."""
    patient: bool = False
    """Whether its client may say nothing for as long as it likes."""
    large_answer: bool = False
    """Whether it is answered once the answers of this kind before it were read, of those over the same connection: what
    a client does not read is not made."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What requests may be at most."""

    bounds: Mapping[str, Bound]
    """Bounds of methods, by the method's name, such as "Ask"."""
    others: Bound
    """Bounds of every other method."""
    counts: CountLimits
    """How often fields may come, of all methods."""
    aside: Aside
    """Does what takes long, for all methods."""

    def of(self, method: str) -> Bound:
        """The bound of a method."""
        return self.bounds.get(method, self.others)

    def reader(self, method: MethodDescriptor) -> RequestReader:
        """What makes messages of a method's requests."""
        return RequestReader(method, self.of(method.name), self.counts, self.aside)


class RequestReader:
    """Makes messages of one method's requests.

    Args:
        method: which one.
        bound: what its requests may be at most.
        counts: how often fields may come.
        aside: does what takes long.
    """

    def __init__(self, method: MethodDescriptor, bound: Bound, counts: CountLimits, aside: Aside) -> None:
        self.bound = bound
        self._method = method.name
        self._kind: type[Message] = GetMessageClass(method.input_type)
        self._shape = RequestShape(method.input_type, counts)
        self._aside = aside

    async def message(self, raw: bytes, *, json: bool = False) -> Message:
        """The message of a request, without fields that are not known.

        Args:
            raw: its bytes, which may be compressed.
            json: whether they are JSON in UTF-8, and not the binary form.

        Raises:
            InvalidInput: it has too many bytes, fields or items.
            Unreadable: it is no message of its kind.
            Overloaded: there is no memory for what it becomes.
        """
        if is_packed(raw):
            most = as_json(self.bound.most_bytes) if json else self.bound.most_bytes
            most = most_unpacked(len(raw), most)
            raw = await self._aside.do(partial(unpacked, most=most), raw, most)
        if json:
            return await self._aside.do(self._of_json, raw, JSON_TIMES * len(raw))
        return self._of_binary(raw)

    def _of_binary(self, raw: bytes) -> Message:
        self._check(raw)
        try:
            message = self._kind.FromString(raw)
        except DecodeError:
            raise Unreadable from None
        message.DiscardUnknownFields()
        return message

    def _of_json(self, raw: bytes) -> Message:
        if not has_at_most(_TOKENS_OF_FIELD * MOST_FIELDS, raw):
            raise InvalidInput("request", f"more than the {MOST_FIELDS} fields allowed")
        if not raw.lstrip().startswith(b"{"):
            raise Unreadable("it is no JSON object")
        try:
            message = Parse(raw, self._kind(), ignore_unknown_fields=True)
        except (ParseError, ValueError, RecursionError) as error:
            raise Unreadable(str(error)) from None
        self._check(message.SerializeToString())
        return message

    def _check(self, raw: bytes) -> None:
        if len(raw) > self.bound.most_bytes:
            most = self.bound.most_bytes
            raise InvalidInput("request", f"{len(raw)} bytes is more than the {most} that {self._method} takes")
        self._shape.check(raw, self.bound.most_beside)


class Aside:
    """Does what takes long on a thread, one thing at a time: the event loop then has every other turn.

    Args:
        memory: admits what comes of it first.
    """

    def __init__(self, memory: WorkMemory) -> None:
        self._memory = memory
        self._turn = asyncio.Lock()

    async def do(self, work: Callable[[Given], Made], given: Given, becomes: int) -> Made:
        """Do work of which so many bytes come; of few it is done at once, since a thread would take longer.

        Raises:
            Overloaded: there is no memory for it.
        """
        if becomes <= _AT_ONCE_BYTES:
            return work(given)
        async with self._memory.admit(becomes, held=True), self._turn:
            return await asyncio.to_thread(work, given)


def as_json(most_bytes: int) -> int:
    """What a message of so many bytes takes as JSON, where bytes are written in base64."""
    return most_bytes * 4 // 3 + 4096


def method_of(path: str) -> MethodDescriptor:
    """The method of a call's path: "/quizglass.v1.AssistantService/Ask"."""
    return descriptor_pool.Default().FindMethodByName(path.lstrip("/").replace("/", "."))
