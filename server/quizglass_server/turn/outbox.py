"""Events of a turn on their way to whoever follows it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace

from quizglass_server.domain.turns import AnswerDelta, TurnEvent


class Outbox:
    """A queue of events between the task that runs a turn and the one that tells of it.

    Pieces of the answer that wait together are one piece when they leave: a message costs as much as several words of
    a fast model. Whoever follows is woken when what the turn goes on to do has been started: the engines begin first.
    """

    def __init__(self) -> None:
        self._waiting: deque[TurnEvent] = deque()
        self._changed = asyncio.Event()
        self._closed = False
        self._woken = False

    def put(self, event: TurnEvent) -> None:
        """Add an event."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(event, AnswerDelta) and isinstance(last, AnswerDelta):
            self._waiting[-1] = replace(last, text=last.text + event.text)
        else:
            self._waiting.append(event)
        if not self._woken:
            self._woken = True
            asyncio.get_running_loop().call_soon(self._wake)

    def close(self) -> None:
        """Nothing more comes; what waits still leaves."""
        self._closed = True
        self._changed.set()

    def _wake(self) -> None:
        self._woken = False
        self._changed.set()

    async def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """The events in order, until the outbox is closed and empty."""
        while self._waiting or not self._closed:
            if self._waiting:
                yield self._waiting.popleft()
            else:
                self._changed.clear()
                await self._changed.wait()
