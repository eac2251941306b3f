"""The services over Connect and gRPC-Web, which browsers and plain HTTP clients speak: the servicers are those of gRPC.

Methods come from the services' descriptors, so that a service which gRPC has is here without more.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from math import ceil
from typing import Any, NoReturn

import grpc
from connectrpc.code import Code
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2
from protobuf.wkt import Any as PackedDetail

from quizglass_server.errors import InvalidInput, QuizglassError, Unfinished
from quizglass_server.network.login import current_login
from quizglass_server.rpc.requests.reader import JSON_TIMES, Aside, Limits, RequestReader, as_json
from quizglass_server.rpc.server import Served
from quizglass_server.rpc.transport.status import to_status

_KINDS: Mapping[tuple[bool, bool], tuple[StreamType, Callable[..., Any], str]] = {
    (False, False): (StreamType.UNARY, Endpoint.unary, "unary"),
    (False, True): (StreamType.SERVER_STREAM, Endpoint.server_stream, "server_stream"),
    (True, False): (StreamType.CLIENT_STREAM, Endpoint.client_stream, "client_stream"),
}
"""By whether requests and responses are streams, with the method of `_Calls`. Both at once need HTTP/2, which is gRPC's
own port."""

_GRPC = ("application/grpc+", "application/grpc;")
_GRPC_WEB = "application/grpc-web"
_WHOLE = ("application/json", "application/proto")
_STREAMED = ("application/connect+json", "application/connect+proto")
"""Connect's content types, of calls of one message each way and of streams."""
_PROTO, _JSON = "proto", "json"
"""Codecs, as content types have them."""
_UNASKED = (b"accept-encoding", b"connect-accept-encoding", b"grpc-accept-encoding")
"""Headers that ask for compressed responses, which would be compressed on the event loop: a picture takes a second."""


@dataclass(frozen=True, slots=True)
class ConnectMethod:
    """A method of a service, as an ASGI application."""

    path: str
    """Path of its URL: /quizglass.v1.AssistantService/Ask."""
    app: Callable[..., Awaitable[None]]
    most_bytes: int
    """Most bytes of one request message, in its binary form."""
    streams_requests: bool
    large_answer: bool
    """As `Bound` has it."""


def connect_methods(served: Iterable[Served], limits: Limits, message_s: float) -> list[ConnectMethod]:
    """Every method that HTTP/1.1 can carry.

    Args:
        served: the services.
        limits: what requests may be at most, in their binary form. As JSON they are larger.
        message_s: seconds that a client may take to send a message, for the error.
    """
    methods: list[ConnectMethod] = []
    for each in served:
        for method in each.service.methods:
            if (method.client_streaming, method.server_streaming) not in _KINDS:
                continue
            path, bound = f"/{each.service.full_name}/{method.name}", limits.of(method.name)
            calls = _Calls(limits.reader(method), getattr(each.servicer, method.name), limits.aside, message_s)
            streams = method.client_streaming or method.server_streaming
            app = _Application({path: _endpoint(method, calls)}, as_json(bound.most_bytes), streams=streams)
            methods.append(ConnectMethod(path, app, bound.most_bytes, method.client_streaming, bound.large_answer))
    return methods


class _Application(ConnectASGIApplication[None]):
    """Endpoints by path, which all stream or all do not."""

    def __init__(self, endpoints: Mapping[str, Any], read_max_bytes: int, *, streams: bool) -> None:
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            read_max_bytes=read_max_bytes,
            codecs=(_Bytes(_PROTO), _Bytes(_JSON)),
            compressions=(_Packed(),),
        )
        self._taken = _STREAMED if streams else _WHOLE

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a call; one of gRPC itself needs HTTP/2 and its port."""
        kind = f"{_content_type(scope)};"
        if kind.startswith(_GRPC):
            await _wrong_kind(send, self._taken, "gRPC has a port of its own; here it is gRPC-Web")
            return
        if scope["method"] == "POST" and not kind.startswith((*self._taken, _GRPC_WEB)):
            wanted = " or ".join(self._taken)
            how = ", whose messages are in envelopes of five bytes" if self._taken is _STREAMED else ""
            await _wrong_kind(send, self._taken, f"the content type has to be {wanted}{how}")
            return
        headers = [(name, value) for name, value in scope["headers"] if name not in _UNASKED]
        await super().__call__({**scope, "headers": headers}, receive, send)

    @property
    def path(self) -> str:
        """Where it is mounted: its endpoints have whole paths."""
        return ""


async def _wrong_kind(send: Any, taken: tuple[str, ...], told: str) -> None:
    """Say which content types are taken."""
    headers = [(b"content-type", b"text/plain"), (b"accept-post", ", ".join(taken).encode())]
    await send({"type": "http.response.start", "status": 415, "headers": headers})
    await send({"type": "http.response.body", "body": told.encode()})


class _Context:
    """What a servicer asks of its `grpc.aio.ServicerContext`, for a call that came over HTTP."""

    def __init__(self, context: RequestContext[Any, Any]) -> None:
        self._context = context

    def time_remaining(self) -> float | None:
        """Seconds until the client gives up; None: it never does."""
        left = self._context.timeout_ms
        return None if left is None else max(0.0, left / 1e3)

    def peer(self) -> str:
        """The client's address, as gRPC writes it."""
        return f"ipv4:{self._context.client_address}"

    async def send_initial_metadata(self, metadata: Iterable[tuple[str, str]]) -> None:
        """Have headers sent with the first message."""
        for name, value in metadata:
            self._context.response_headers[name] = value

    async def abort_with_status(self, status: grpc.Status) -> NoReturn:
        """End the call with an error."""
        raise _error(status, self._context)


class _Received:
    """A request as it came, until it is taken."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def take(self) -> bytes:
        """Its bytes, which are not held here any longer."""
        raw, self._raw = self._raw, b""
        return raw


class _Bytes:
    """A codec that leaves bytes as they are: what they hold is looked at before it is a message (`RequestReader`)."""

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        """As content types have it."""
        return self._name

    def encode(self, message: bytes) -> bytes:
        """The bytes of a response."""
        return message

    def decode(self, data: bytes | bytearray, message_class: type[Message]) -> _Received:
        """A request as it came."""
        return _Received(bytes(data))


class _Packed:
    """A compression whose requests stay compressed: they are unpacked where it is known how much may come out."""

    def name(self) -> str:
        """As headers have it."""
        return "gzip"

    def compress(self, data: bytes | bytearray | memoryview) -> bytes:
        """Of a response, which is not asked for: none is compressed (`_UNASKED`)."""
        return gzip.compress(data)

    def decompress(self, data: bytes | bytearray | memoryview, read_max_bytes: int | None = None) -> bytes:
        """The bytes as they came."""
        return bytes(data)


class _Calls:
    """The calls of one method, with requests and responses in bytes.

    Args:
        reader: makes messages of its requests.
        handler: the servicer's.
        aside: writes long responses as JSON.
        message_s: seconds that a client may take to send a message of a stream.
    """

    def __init__(self, reader: RequestReader, handler: Callable[..., Any], aside: Aside, message_s: float) -> None:
        self._reader = reader
        self._handler = handler
        self._aside = aside
        self._message_s = message_s

    async def unary(self, received: _Received, context: RequestContext[Any, Any]) -> bytes:
        """Answer one message with one."""
        response = await self._handler(await self._request(received, context), _Context(context))
        return await self._written(response, context)

    async def server_stream(
        self, received: _Received, context: RequestContext[Any, Any]
    ) -> AsyncGenerator[bytes, None]:
        """Answer one message with many."""
        # Nothing here holds the request: it may be large, and its turn long.
        async with aclosing(self._handler(await self._request(received, context), _Context(context))) as responses:
            async for response in responses:
                _check_login()
                yield await self._written(response, context)

    async def client_stream(self, received: AsyncIterator[_Received], context: RequestContext[Any, Any]) -> bytes:
        """Answer many messages with one."""
        requests = _Requests(received, lambda each: self._read(each, context), self._message_s)
        return await self._written(await self._handler(requests, _Context(context)), context)

    async def _request(self, received: _Received, context: RequestContext[Any, Any]) -> Message:
        try:
            return await self._read(received, context)
        except QuizglassError as error:
            status = to_status(error.with_traceback(None))  # whose frames hold the request
        raise _error(status, context)

    async def _read(self, received: _Received, context: RequestContext[Any, Any]) -> Message:
        """The message of a request. Raises what `RequestReader.message` does."""
        return await self._reader.message(received.take(), json=_is_json(context))

    async def _written(self, response: Message, context: RequestContext[Any, Any]) -> bytes:
        if not _is_json(context):
            return response.SerializeToString()
        becomes = JSON_TIMES * response.ByteSize()
        return await self._aside.do(lambda message: MessageToJson(message).encode(), response, becomes)


def _check_login() -> None:
    """Raises ConnectError: the caller is no longer welcome."""
    try:
        current_login().check()
    except QuizglassError as error:
        raise _error(to_status(error)) from None


def _is_json(context: RequestContext[Any, Any]) -> bool:
    """Whether requests and responses of a call are JSON."""
    return context.request_headers.get("content-type", "").partition(";")[0].strip().lower().endswith(_JSON)


def _endpoint(method: MethodDescriptor, calls: _Calls) -> Any:
    kind, endpoint, name = _KINDS[method.client_streaming, method.server_streaming]
    information = MethodInfo(
        name=method.name,
        service_name=method.containing_service.full_name,
        input=GetMessageClass(method.input_type),
        output=GetMessageClass(method.output_type),
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=kind,
    )
    return endpoint(information, getattr(calls, name))


class _Requests:
    """The messages of a client. Raises what a stream over gRPC does."""

    def __init__(
        self, received: AsyncIterator[_Received], read: Callable[[_Received], Awaitable[Message]], message_s: float
    ) -> None:
        self._received = received
        self._read = read
        self._message_s = message_s

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        """The next message. Another one may follow one that could not be read.

        Raises:
            InvalidInput: it is too large or no message of its kind.
            Unfinished: it did not come whole.
            Unauthenticated: the caller is no longer welcome.
        """
        received = await self._next()
        current_login().check()
        return await self._read(received)

    async def _next(self) -> _Received:
        try:
            async with asyncio.timeout(self._message_s):
                return await anext(self._received)
        except ConnectError as error:
            if error.code in (Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED):
                raise InvalidInput("request", error.message) from None
            raise Unfinished(self._message_s) from None
        except TimeoutError:
            raise Unfinished(self._message_s) from None


def _content_type(scope: Mapping[str, Any]) -> str:
    """Content type of a request, in small letters."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    return headers.get(b"content-type", b"").decode("latin-1").lower()


def _retry_s(packed: status_pb2.Status) -> float | None:
    """Seconds after which a status says to try again; None: it says nothing of that."""
    info = error_details_pb2.RetryInfo()
    if any(each.Unpack(info) for each in packed.details):
        return float(info.retry_delay.ToTimedelta().total_seconds())
    return None


def _packed(status: grpc.Status) -> status_pb2.Status:
    return status_pb2.Status.FromString(dict(status.trailing_metadata)["grpc-status-details-bin"])


def _error(status: grpc.Status, context: RequestContext[Any, Any] | None = None) -> ConnectError:
    """The error of Connect that says what a status does, with its details, and of HTTP in the headers of a call."""
    packed = _packed(status)
    if context is not None and (wait_s := _retry_s(packed)) is not None:
        context.response_headers["retry-after"] = str(ceil(wait_s))
    details = [ErrorDetail(PackedDetail(type_url=each.type_url, value=each.value)) for each in packed.details]
    return ConnectError(Code[status.code.name], status.details, details)
