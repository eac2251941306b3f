"""What comes of a question in a session: its events in order, each once, and how it ends."""

from __future__ import annotations

import asyncio
from collections import deque

from quizglass.session import Interrupted, NeedFrame, Notice, Progress, TurnUpdate
from quizglass.values import Done
from quizglass_client.errors import Cancelled, ClientError, from_notice
from quizglass_client.types import Answer, Event

TurnSaid = TurnUpdate | Interrupted | NeedFrame | Progress
"""What is told of a turn."""


class TurnFeed:
    """What is told of one question.

    Args:
        ask_id: the question's name.
    """

    def __init__(self, ask_id: str) -> None:
        self.ask_id = ask_id
        self.begun = False
        """Whether anything was told of its turn."""
        self.over = False
        self._waiting: deque[TurnSaid] = deque()
        self._updates: list[TurnUpdate] = []
        self._interrupted: Interrupted | None = None
        self._error: ClientError | None = None
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()

    def take(self, said: TurnSaid | Notice) -> None:
        """Something is told of it."""
        if isinstance(said, Notice):
            if said.turn_over:
                self.fail(from_notice(said))
            return
        if isinstance(said, TurnUpdate):
            self.begun = True
            self._updates.append(said)
        if isinstance(said, Interrupted):
            self._interrupted = said
        self._waiting.append(said)
        if isinstance(said, Interrupted) or (isinstance(said, TurnUpdate) and isinstance(said.event, Done)):
            self._end()
        self._changed.set()

    def fail(self, error: ClientError) -> None:
        """It has failed; what was told before still comes."""
        if not self.over:
            self._error = error
            self._end()

    async def next(self) -> TurnSaid | None:
        """What is told next; None when it is over.

        Raises:
            ClientError: it has failed.
        """
        while not self._waiting:
            if self.over:
                if self._error is not None:
                    raise self._error
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    async def answer(self) -> Answer:
        """The whole turn, when it is over; what was told of it still comes by `next`.

        Raises:
            Cancelled: it was interrupted.
            ClientError: it has failed.
        """
        await self._ended.wait()
        if self._error is not None:
            raise self._error
        if self._interrupted is not None:
            told = f"the turn was interrupted ({self._interrupted.cause})"
            raise Cancelled(told, status="CANCELLED", reason="INTERRUPTED")
        return Answer.of(
            [Event(said.turn_id, said.seq, said.elapsed, said.event) for said in self._updates if said.event]
        )

    def _end(self) -> None:
        self.over = True
        self._ended.set()
        self._changed.set()
