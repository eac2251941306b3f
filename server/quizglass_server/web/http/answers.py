"""Large answers, such as pages of entries: made one after the other, and only as fast as clients take them.

A client that does not read what it asked for holds one of few places, which goes to whoever asks next.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.clients import Client, current_client
from quizglass_server.scheduling.places import Place, Places
from quizglass_server.web.http.asgi import App, Message, Receive, Scope, Send
from quizglass_server.web.http.bodies import TurnedAway
from quizglass_server.web.http.connection import Connection

MOST = 16
"""Answers that are made or wait to be taken, of all clients together."""
UNREAD_S = 2.0
"""Seconds for which a client may take nothing while others of its address wait for a place."""
_MADE_AT_ONCE = 2
WAIT_S, _AGAIN_S = 30.0, 0.25
"""How long a request waits for a place, and how often it looks."""
_PIECE = 64 * 1024


class LargeAnswers:
    """What is made of large answers and not yet taken, over all connections."""

    def __init__(self) -> None:
        self._places = Places(MOST, "large answers")
        self._making = asyncio.Semaphore(_MADE_AT_ONCE)
        self._released = asyncio.Event()

    def of(self, app: App) -> App:
        """An application whose answers are large, as one that waits for its turn."""

        async def in_turn(scope: Scope, receive: Receive, send: Send) -> None:
            connection = Connection.of(scope)
            async with self._place(current_client()) as place:
                if connection.transport.is_closing():
                    return
                answer = _Answer(send, place, connection, self._making)
                async with answer:
                    await app(scope, receive, answer.send)

        return in_turn

    @asynccontextmanager
    async def _place(self, client: Client) -> AsyncIterator[Place]:
        place = await self._taken(client)
        try:
            yield place
        finally:
            place.release()
            self._released.set()

    async def _taken(self, client: Client) -> Place:
        """A place, once there is one.

        Raises:
            TurnedAway: none came in time.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + WAIT_S
        while True:
            try:
                return self._places.take(client)
            except Overloaded as refusal:
                if loop.time() >= due:
                    raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, refusal.message) from None
            self._released.clear()
            try:
                async with asyncio.timeout(_AGAIN_S):  # one that is not read makes room without a word
                    await self._released.wait()
            except TimeoutError:
                continue


class _Answer:
    """One answer: made in turn, then sent piece by piece."""

    def __init__(self, send: Send, place: Place, connection: Connection, making: asyncio.Semaphore) -> None:
        self._send = send
        self._place = place
        self._connection = connection
        self._making: asyncio.Semaphore | None = making

    async def __aenter__(self) -> None:
        assert self._making is not None
        await self._making.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._made()

    async def send(self, message: Message) -> None:
        """ASGI's `send`. Returns when the client has taken all but the last pieces."""
        self._made()
        body = message.get("body", b"")
        for start in range(0, max(1, len(body)), _PIECE):
            more = message.get("more_body", False) or start + _PIECE < len(body)
            piece = {**message, "body": body[start : start + _PIECE], "more_body": more} if body else message
            self._place.idle(self._connection.transport.abort, UNREAD_S)
            await self._send(piece)
            self._place.busy()

    def _made(self) -> None:
        """Let the next answer be made."""
        if self._making is not None:
            self._making.release()
            self._making = None
