"""SessionService: the same session over one link in both directions, or over a stream and single calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from quizglass.convert import client_value, said_name, server_message, to_value
from quizglass.session import Open
from quizglass.v1 import session_pb2, session_pb2_grpc
from quizglass_server.domain import checks
from quizglass_server.errors import InvalidInput, QuizglassError, Unfinished
from quizglass_server.rpc.transport.guard import Context, Guard
from quizglass_server.rpc.transport.status import status_code
from quizglass_server.session.directory import SessionDirectory
from quizglass_server.session.link import SessionLink
from quizglass_server.session.log import Encoded
from quizglass_server.session.session import Session, Wire

ATTACH = "/quizglass.v1.SessionService/Attach"
"""Path of the method whose call lasts as long as a link, over which nothing may be said for long."""
MAX_MESSAGES = 64
OPEN_S = 10.0
"""Seconds that a link may stay silent before `open`."""


WIRE = Wire(server_message, lambda error: int(status_code(error).value[0]), said_name)
"""Sessions' messages as the contract has them."""


class SessionServicer(session_pb2_grpc.SessionServiceServicer):
    """Wearables' sessions."""

    def __init__(self, sessions: SessionDirectory, guard: Guard) -> None:
        self._sessions = sessions
        self._guard = guard

    async def Converse(
        self, messages: AsyncIterator[session_pb2.ClientMessage], context: Context
    ) -> AsyncGenerator[Encoded, None]:
        """A session over one link."""
        async with self._guard(context, "Converse"):
            session, link = self._sessions.open(await _first(messages))
            reading = asyncio.create_task(_read(messages, session, link), name=f"read {session.id}")
            try:
                async with aclosing(link.messages()) as sending:
                    async for message in sending:
                        yield message
            finally:
                session.detach(link)
                reading.cancel()
                await asyncio.wait({reading})
                if not reading.cancelled():
                    reading.exception()  # the link has ended with it

    async def Attach(self, request: session_pb2.AttachRequest, context: Context) -> AsyncGenerator[Encoded, None]:
        """What a session has to say."""
        async with self._guard(context, "Attach"):
            session, link = self._sessions.open(_opening(request.open))
            try:
                async with aclosing(link.messages()) as sending:
                    async for message in sending:
                        yield message
            finally:
                session.detach(link)

    async def Send(self, request: session_pb2.SendRequest, context: Context) -> session_pb2.SendResponse:
        """What a client has to say."""
        async with self._guard(context, "Send"):
            checks.within(len(request.messages), 1, MAX_MESSAGES, "messages")
            for message in request.messages:
                session = self._sessions.of_holder(request.holder, request.session_id, request.stream)
                await session.room()
                session.receive(client_value(message), message.id)
            return session_pb2.SendResponse()


async def _first(messages: AsyncIterator[session_pb2.ClientMessage]) -> Open:
    """How a link begins. What comes before `open` is refused; so is a link that stays silent."""
    try:
        async with asyncio.timeout(OPEN_S):
            async for message in messages:
                if message.HasField("open"):
                    return _opening(message.open)
                said = client_value(message)
                kind = "nothing that this server knows" if said is None else said_name(said)
                raise InvalidInput("open", f"a link begins with open, and this one with {kind}")
    except TimeoutError:
        raise Unfinished(OPEN_S) from None
    raise InvalidInput("open", "a link begins with open, and this one ended without")


def _opening(wish: session_pb2.Open) -> Open:
    """What a link wishes for. A privacy of a later protocol is refused: it may ask for more than is promised here."""
    if wish.privacy not in session_pb2.Open.Privacy.values():
        raise InvalidInput("open.privacy", f"this server knows no privacy {wish.privacy}, and cannot promise it")
    return to_value(wish, Open)


async def _read(messages: AsyncIterator[session_pb2.ClientMessage], session: Session, link: SessionLink) -> None:
    """Take what comes over a link until its client says no more, or is gone. It may still listen."""
    while True:
        try:
            message = await anext(messages)
        except StopAsyncIteration:
            session.listens_only(link)
            return
        except InvalidInput as error:  # this message alone cannot be read
            if session.link is link:
                session.refuse(error)
            continue
        except QuizglassError as error:
            link.end(error)
            return
        if session.link is not link:
            return
        session.receive(client_value(message), message.id)
        await session.room()
