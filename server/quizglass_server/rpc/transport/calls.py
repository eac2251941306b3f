"""Stands between gRPC and every handler: receives requests, parses them, and sends what the handler says.

Each request has a size and a shape by its method, a time, and no unknown fields; each response has a time to be read.
Every method is registered with gRPC as a stream of bytes in both directions, which on the wire is what it was before:
so what comes in can be looked at before it is a message, and what goes out can be timed.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from typing import Any
from weakref import WeakValueDictionary

import grpc

from quizglass_server.config.logs import RateLimitedLogger
from quizglass_server.errors import InvalidInput, QuizglassError
from quizglass_server.network.login import Logins, current_login, logged_in
from quizglass_server.network.permissions import Needs, needs
from quizglass_server.observe import metrics, tracing
from quizglass_server.rpc.requests.reader import Limits, RequestReader, method_of
from quizglass_server.rpc.requests.unreadable import Unreadable
from quizglass_server.rpc.transport.callers import Callers
from quizglass_server.rpc.transport.guard import Context
from quizglass_server.rpc.transport.incoming import Incoming
from quizglass_server.rpc.transport.outgoing import Outgoing, Unread
from quizglass_server.rpc.transport.sockets import Sockets
from quizglass_server.rpc.transport.status import to_status
from quizglass_server.scheduling.allowances import count_upload

logger = RateLimitedLogger(logging.getLogger(__name__))

_COLLECTED_BYTES = 64 * 1024 * 1024
_COLLECTED_WHOLLY = 16
"""Of so many collections one is of all objects, which takes 20 to 80 ms of the event loop. The others are of the young
ones, as those of a request that was just refused."""

Handler = Any
"""A grpc.RpcMethodHandler; what is known of its types is of gRPC's other interface, without asyncio."""


class Calls(grpc.aio.ServerInterceptor):
    """All calls of a server.

    Args:
        limits: what requests may be at most.
        incoming: bounds what is not received yet.
        outgoing: bounds what is not read yet.
        sockets: closes connections of clients that do not read.
        callers: bounds calls and connections.
        logins: says who may make a call.
    """

    def __init__(
        self,
        limits: Limits,
        incoming: Incoming,
        outgoing: Outgoing,
        sockets: Sockets,
        callers: Callers,
        logins: Logins,
    ) -> None:
        self._limits = limits
        self._incoming = incoming
        self._outgoing = outgoing
        self._sockets = sockets
        self._callers = callers
        self._logins = logins
        self._handlers: dict[str, Handler] = {}
        self._answering: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._received = 0
        self._collections = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """What gRPC is to call in place of a handler; None where there is no such method."""
        handler_of_method = self._handlers.get(details.method)
        if handler_of_method is None:
            handler = await continuation(details)
            if handler is None:
                return None
            handler_of_method = self._handlers[details.method] = self._timed(details.method, handler)
        return handler_of_method

    def _timed(self, path: str, handler: Handler) -> Handler:
        method = method_of(path)
        reader = self._limits.reader(method)
        needed = needs(path)

        async def serve(_: object, context: Context) -> None:
            call = _Call(method.name, handler, context, reader, self._incoming, self._outgoing)
            try:
                await self._serve(call, needed)
            except Unread:
                logger.warning("a client does not read; its connection is closed", rpc=method.name, peer=context.peer())
                self._sockets.close(context.peer())
            finally:
                self._collect(call.received)

        return grpc.stream_stream_rpc_method_handler(serve)

    async def _serve(self, call: _Call, needed: Needs) -> None:
        try:
            with (
                self._callers.calling(call.context),
                logged_in(self._logins.enter(call.sent("authorization"), needed)),
                tracing.carried(call.sent(tracing.TRACEPARENT)),
            ):
                if call.bound.check_room is not None:
                    call.bound.check_room()
                async with self._its_turn(call):
                    await call.finish(call.begin(call if call.handler.request_streaming else await call.only()))
        except QuizglassError as error:
            metrics.REFUSALS.add(error.code)
            await call.refuse(error.with_traceback(None))  # whose frames hold the message

    def _its_turn(self, call: _Call) -> AbstractAsyncContextManager[None]:
        """When a call is answered, and until its answer was taken."""
        if not call.bound.large_answer:
            return nullcontext()
        return self._answering.setdefault(call.context.peer(), asyncio.Lock())

    def _collect(self, received: int) -> None:
        """Have Python look for garbage by bytes too: a refusal and the frames that it passed, with the message in them,
        hold each other, and Python counts them as few objects however large they are.
        """
        self._received += received
        if self._received >= _COLLECTED_BYTES:
            self._received = 0
            self._collections += 1
            gc.collect(1 if self._collections % _COLLECTED_WHOLLY else 2)


class _Call:
    """One call. As an iterator it is the messages of its client."""

    def __init__(
        self,
        method: str,
        handler: Handler,
        context: Context,
        reader: RequestReader,
        incoming: Incoming,
        outgoing: Outgoing,
    ) -> None:
        self.method = method
        self.handler = handler
        self.context = context
        self.bound = reader.bound
        self._reader = reader
        self._incoming = incoming
        self._outgoing = outgoing
        self.received = 0
        """Bytes of its messages."""

    def sent(self, name: str) -> str | None:
        """What came with it under a name, as it came."""
        told = (value for key, value in self.context.invocation_metadata() or () if key == name)
        return next(map(str, told), None)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        """The next message. Another one may follow one that could not be parsed.

        Raises:
            InvalidInput: it is too large or no message of its kind.
            Unfinished, Overloaded: it did not come whole in time, or too much comes in.
            Unauthenticated: the caller is no longer welcome.
        """
        received: Any = await self._incoming.message(self.context.peer(), self.context.read, patient=self.bound.patient)
        current_login().check()
        if received is grpc.aio.EOF:
            raise StopAsyncIteration
        return await self._parsed(received)

    async def only(self) -> Any:
        """The one message of a call that has one.

        Raises:
            InvalidInput: there is none, it is too large, or no message of its kind.
            Unfinished, Overloaded: it did not come whole in time, or too much comes in.
        """
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise InvalidInput("request", f"{self.method} takes one message, and none came") from None

    def begin(self, requests: Any) -> Any:
        """Start the handler, which from now on is the only one to hold the request: it may be large."""
        handler = self.handler
        if handler.response_streaming:
            run = handler.stream_stream if handler.request_streaming else handler.unary_stream
        else:
            run = handler.stream_unary if handler.request_streaming else handler.unary_unary
        writes = handler.response_streaming and inspect.iscoroutinefunction(run)
        return run(requests, _Writer(self.context, self._send) if writes else self.context)

    async def finish(self, begun: Any) -> None:
        """Send what a handler says that was started by `begin`."""
        if inspect.isasyncgen(begun):
            async with aclosing(begun) as responses:
                async for response in responses:
                    await self._send(response)
            return
        response = await begun
        if not self.handler.response_streaming:
            await self._send(response)

    async def refuse(self, error: QuizglassError) -> None:
        """End the call with an error, unless its client has."""
        with suppress(grpc.aio.InternalError):
            await self.context.abort_with_status(to_status(error))

    async def _send(self, response: Any) -> None:
        current_login().check()
        raw = self.handler.response_serializer(response)
        try:
            await self._outgoing.message(len(raw), self.context.write(raw))
        except grpc.aio.InternalError:  # the connection is gone, which gRPC is about to say
            raise asyncio.CancelledError from None

    async def _parsed(self, raw: bytes) -> Any:
        self.received += len(raw)
        count_upload(len(raw))
        self._incoming.judge(self.context.peer(), too_large=len(raw) > self.bound.most_bytes)
        try:
            return await self._reader.message(raw)
        except InvalidInput as error:
            self._incoming.refused(self.context.peer(), len(raw))
            if isinstance(error, Unreadable):
                logger.warning("a request is no message", rpc=self.method, peer=self.context.peer(), bytes=len(raw))
            raise


class _Writer:
    """The context of a handler that writes its responses itself."""

    def __init__(self, context: Context, write: Callable[[Any], Awaitable[None]]) -> None:
        self._context = context
        self.write = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
