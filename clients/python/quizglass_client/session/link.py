"""One connection of a session: made, written to and read from, and closed for good."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import grpc

from quizglass.convert import client_message
from quizglass.session import ClientSaid
from quizglass.v1 import session_pb2, session_pb2_grpc
from quizglass_client.access import OPEN, Access, CallsWithMetadata
from quizglass_client.channel import open_async_channel
from quizglass_client.errors import ServerUnavailable

_CLOSE_S = 0.2
_NOT_SENT = "Internal error from Core"
"""The whole text of the status that gRPC gives to a call of which a message could not be sent."""


class SessionConnection:
    """A channel of its own, and the call over it.

    A broken link's channel is never used again: it may wait for a connection without an answer.
    """

    def __init__(self, target: str, keepalive: float | None, access: Access = OPEN) -> None:
        self._target = target
        self._access = access
        self.channel = open_async_channel(target, keepalive=keepalive, access=access, shared=False)
        self._call: Any = None
        self._end: asyncio.Future[grpc.aio.AioRpcError | None] = asyncio.get_running_loop().create_future()
        """What the call has ended with, None for an end in order."""

    async def open(self, first: ClientSaid) -> None:
        """Connect and say the first message.

        Raises:
            ServerUnavailable: no server answers there.
        """
        await self._connected()
        calls = CallsWithMetadata(self.channel, self._access)
        stub = session_pb2_grpc.SessionServiceStub(calls)  # type: ignore[no-untyped-call]
        self._call = stub.Converse()
        self._call.add_done_callback(self._ended)
        await self.write(first)

    async def _connected(self) -> None:
        state = self.channel.get_state(try_to_connect=True)
        while state is not grpc.ChannelConnectivity.READY:
            if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                trusted = "" if self._access.credentials is None else " with a certificate that is trusted"
                raise ServerUnavailable(f"nothing answers at {self._target}{trusted}", status="UNAVAILABLE")
            await self.channel.wait_for_state_change(state)
            state = self.channel.get_state(try_to_connect=True)

    def _ended(self, call: Any) -> None:
        """The call has a status: the server's, or gRPC's own of a message that could not be sent, which comes before
        the server's or takes its place.
        """
        error = _error(call)
        if not self._end.done() and (error is None or error.details() != _NOT_SENT):
            self._end.set_result(error)

    async def write(self, said: ClientSaid) -> None:
        """Send a message. One to a link that has ended is lost: readers get the reason."""
        with suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
            await self._call.write(client_message(said))

    async def read(self) -> session_pb2.ServerMessage | None:
        """The next message; None when the server has ended the link in order.

        Raises:
            grpc.RpcError: it has failed.
        """
        with suppress(grpc.aio.AioRpcError):
            message = await self._call.read()
            if message is not grpc.aio.EOF:
                return message  # type: ignore[no-any-return]
        if (error := await self._end) is not None:
            raise error
        return None

    async def close(self) -> None:
        """End it, whatever state it is in."""
        if self._call is not None:
            self._call.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self.channel.close()


def _error(call: Any) -> grpc.aio.AioRpcError | None:
    """What a call that has a status has failed with; None: it has not."""
    code = _at_once(call.code())
    if code is grpc.StatusCode.OK:
        return None
    initial, trailing = _at_once(call.initial_metadata()), _at_once(call.trailing_metadata())
    return grpc.aio.AioRpcError(code, initial, trailing, _at_once(call.details()))


def _at_once(answer: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives that has nothing to wait for."""
    try:
        answer.send(None)
    except StopIteration as end:
        return end.value
    answer.close()
    raise RuntimeError("a call that has ended does not say with what")
