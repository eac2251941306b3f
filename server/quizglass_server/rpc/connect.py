"""The services over Connect and gRPC-Web, which browsers and plain HTTP clients speak: the servicers are those of gRPC.

Methods come from the services' descriptors, so that a service which gRPC has is here without more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc
from connectrpc.code import Code
from connectrpc.compat import google_protobuf_codecs
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from google.rpc import status_pb2
from protobuf.wkt import Any as PackedDetail

from quizglass_server.errors import InvalidInput, Unfinished
from quizglass_server.rpc.server import Served
from quizglass_server.rpc.transport.calls import Limits

_KINDS: Mapping[tuple[bool, bool], tuple[StreamType, Callable[..., Any]]] = {
    (False, False): (StreamType.UNARY, Endpoint.unary),
    (False, True): (StreamType.SERVER_STREAM, Endpoint.server_stream),
    (True, False): (StreamType.CLIENT_STREAM, Endpoint.client_stream),
}
"""By whether requests and responses are streams. Both at once need HTTP/2, which is gRPC's own port."""

_GRPC = ("application/grpc+", "application/grpc;")


@dataclass(frozen=True, slots=True)
class ConnectMethod:
    """A method of a service, as an ASGI application."""

    path: str
    """Path of its URL: /quizglass.v1.AssistantService/Ask."""
    app: Callable[..., Awaitable[None]]
    most_bytes: int
    """Most bytes of one request message, in its binary form."""
    streams_requests: bool


def connect_methods(served: Iterable[Served], limits: Limits, message_s: float) -> list[ConnectMethod]:
    """Every method that HTTP/1.1 can carry.

    Args:
        served: the services.
        limits: what requests may be at most, in their binary form. As JSON they are larger.
        message_s: seconds that a client may take to send a message, for what it is told.
    """
    methods: list[ConnectMethod] = []
    for each in served:
        for method in each.service.methods:
            if (method.client_streaming, method.server_streaming) not in _KINDS:
                continue
            path, bound = f"/{each.service.full_name}/{method.name}", limits.of(method.name)
            endpoint = _endpoint(method, getattr(each.servicer, method.name), message_s)
            app = _Application({path: endpoint}, as_json(bound.most_bytes))
            methods.append(ConnectMethod(path, app, bound.most_bytes, method.client_streaming))
    return methods


def as_json(most_bytes: int) -> int:
    """What a message of so many bytes takes as JSON, where bytes are written in base64."""
    return most_bytes * 4 // 3 + 4096


class _Application(ConnectASGIApplication[None]):
    """Endpoints by path."""

    def __init__(self, endpoints: Mapping[str, Any], read_max_bytes: int) -> None:
        super().__init__(
            service=None,
            endpoints=lambda _: endpoints,
            read_max_bytes=read_max_bytes,
            codecs=google_protobuf_codecs(),
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a call; one of gRPC itself needs HTTP/2 and its port."""
        if f"{_content_type(scope)};".startswith(_GRPC):
            told = [(b"content-type", b"text/plain"), (b"accept-post", b"application/json, application/proto")]
            await send({"type": "http.response.start", "status": 415, "headers": told})
            await send({"type": "http.response.body", "body": b"gRPC has a port of its own; here it is gRPC-Web"})
            return
        await super().__call__(scope, receive, send)

    @property
    def path(self) -> str:
        """Where it is mounted: its endpoints have whole paths."""
        return ""


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
        raise _error(status)


def _endpoint(method: MethodDescriptor, handler: Callable[..., Any], message_s: float) -> Any:
    kind, endpoint = _KINDS[method.client_streaming, method.server_streaming]
    information = MethodInfo(
        name=method.name,
        service_name=method.containing_service.full_name,
        input=GetMessageClass(method.input_type),
        output=GetMessageClass(method.output_type),
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=kind,
    )

    def call(request: Any, context: RequestContext[Any, Any]) -> Any:
        received = _Requests(request, message_s) if method.client_streaming else request
        return handler(received, _Context(context))

    return endpoint(information, call)


class _Requests:
    """The messages of a client. Raises what a stream over gRPC does."""

    def __init__(self, messages: AsyncIterator[Any], message_s: float) -> None:
        self._messages = messages
        self._message_s = message_s

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        """The next message.

        Raises:
            InvalidInput: it is too large or no message of its kind.
            Unfinished: it did not come whole.
        """
        try:
            async with asyncio.timeout(self._message_s):
                return await anext(self._messages)
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


def _error(status: grpc.Status) -> ConnectError:
    """The error of Connect that says what a status does, with its details."""
    packed = status_pb2.Status.FromString(dict(status.trailing_metadata)["grpc-status-details-bin"])
    details = [ErrorDetail(PackedDetail(type_url=each.type_url, value=each.value)) for each in packed.details]
    return ConnectError(Code[status.code.name], status.details, details)
