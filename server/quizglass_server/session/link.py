"""One link of a session: what is sent over it, in which order, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from quizglass.session import GoAway, Opened, Pong, Progress, ServerSaid
from quizglass_server.errors import QuizglassError
from quizglass_server.session.log import Encoded, MessageLog

Encode = Callable[[ServerSaid, int, bytes], Encoded]
"""Encodes a message: what is said, its number, and the session's newest state (empty: it has not changed)."""
Passing = Opened | Progress | GoAway | Pong
"""Messages about the link alone: they have no number, are not kept, and only the newest of a kind is sent."""


class SessionLink:
    """Sends a session's messages from a number on, and before them messages about the link.

    Args:
        number: of the link in its session, from 1.
        log: the session's messages.
        after: number of the last message that the client has.
        encode: makes messages.
    """

    def __init__(self, number: int, log: MessageLog, after: int, encode: Encode) -> None:
        self.number = number
        self.written = after
        """Number of the last message that was written."""
        self.listens_only = False
        """Whether the client has said that it sends nothing more over this link."""
        self._log = log
        self._encode = encode
        self._passing: dict[type, tuple[Passing, bytes]] = {}
        self._changed = asyncio.Event()
        self._moved = asyncio.Event()
        self._error: QuizglassError | None = None
        self._finishing = False

    @property
    def behind(self) -> bool:
        """Whether messages wait to be written."""
        return self._next <= self._log.last

    @property
    def _next(self) -> int:
        """Number of the next message, which may be one that a client acknowledged before this link has written it."""
        return max(self.written + 1, self._log.first)

    def tell(self, said: Passing, state: bytes = b"") -> None:
        """Send a message about the link, in place of a waiting one of the same kind."""
        self._passing.pop(type(said), None)
        self._passing[type(said)] = (said, state)
        self._changed.set()

    def wake(self) -> None:
        """Note that the log has more messages."""
        self._changed.set()

    async def progressed(self) -> None:
        """Wait until another message is written, or the link ends."""
        self._moved.clear()
        await self._moved.wait()

    def end(self, error: QuizglassError) -> None:
        """Send nothing more; the link ends with an error."""
        self._error = error
        self._changed.set()
        self._moved.set()

    def finish(self) -> None:
        """Send what there is, then end."""
        self._finishing = True
        self._changed.set()
        self._moved.set()

    async def messages(self) -> AsyncGenerator[Encoded, None]:
        """The messages to send, in order. A message counts as written when the next one is asked for.

        Raises:
            QuizglassError: the link was ended.
        """
        while True:
            if self._error is not None:
                raise self._error
            if self._passing:
                said, state = self._passing.pop(next(iter(self._passing)))
                yield self._encode(said, self.written, state)
            elif self.behind:
                number = self._next
                yield self._log.get(number)
                self.written = number
                self._log.wrote(number)
                self._moved.set()
            elif self._finishing:
                return
            else:
                self._changed.clear()
                await self._changed.wait()
