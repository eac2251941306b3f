"""One connection of a session: made within a time, written to and read from, and closed for good."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Self

import grpc

from quizglass.convert import client_message
from quizglass.session import ClientSaid
from quizglass.v1 import session_pb2, session_pb2_grpc
from quizglass_client.channel import open_async_channel
from quizglass_client.errors import ServerUnavailable

_CLOSE_S = 0.2


class SessionConnection:
    """A channel of its own, and the call over it.

    A broken link's channel is never used again: it may wait for a connection that nobody answers.
    """

    def __init__(self, target: str, keepalive: float | None) -> None:
        self._target = target
        self.channel = open_async_channel(target, keepalive=keepalive, shared=False)
        self._call: Any = None

    async def open(self, first: ClientSaid, within: float) -> Self:
        """Connect and say the first message.

        Raises:
            ServerUnavailable: nobody answers there, or not in time.
        """
        try:
            async with asyncio.timeout(within):
                await self._connected()
                stub = session_pb2_grpc.SessionServiceStub(self.channel)  # type: ignore[no-untyped-call]
                self._call = stub.Converse()
                await self.write(first)
        except TimeoutError:
            raise ServerUnavailable(
                f"{self._target} does not answer within {within:g} s", status="UNAVAILABLE"
            ) from None
        return self

    async def _connected(self) -> None:
        state = self.channel.get_state(try_to_connect=True)
        while state is not grpc.ChannelConnectivity.READY:
            if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                raise ServerUnavailable(f"nothing answers at {self._target}", status="UNAVAILABLE")
            await self.channel.wait_for_state_change(state)
            state = self.channel.get_state(try_to_connect=True)

    async def write(self, said: ClientSaid) -> None:
        """Send a message. One to a link that has ended waits: whoever reads is told why. Raises grpc.RpcError."""
        try:
            await self._call.write(client_message(said))
        except asyncio.InvalidStateError:
            await asyncio.Event().wait()

    async def read(self) -> session_pb2.ServerMessage | None:
        """The next message; None when the server has ended the link in order.

        Raises:
            grpc.RpcError: it has failed.
        """
        message = await self._call.read()
        if message is not grpc.aio.EOF:
            return message  # type: ignore[no-any-return]
        if await self._call.code() is not grpc.StatusCode.OK:
            await self._call  # raises what it has ended with
        return None

    async def close(self) -> None:
        """End it, whatever state it is in."""
        if self._call is not None:
            self._call.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self.channel.close()
