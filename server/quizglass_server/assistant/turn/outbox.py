"""Events of a turn on their way to whoever follows it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace

from quizglass.values import AnswerDelta, Confirmed, Done, Provisional, TurnEvent, Withdrawn

PATIENCE_S = 0.002
"""How long an event may wait that is neither spoken nor read at once."""
_HEARD = (AnswerDelta, Provisional, Confirmed, Withdrawn, Done)
"""What the wearer waits for."""
Run = Callable[[Callable[[TurnEvent], None]], Coroutine[object, object, None]]
"""A turn, which is given what takes its events."""


class Outbox:
    """A queue of events between the task that runs a turn and the one that tells of it.

    Pieces of the answer that wait together are one piece when they leave: a message costs as much as several words of
    a fast model. Whoever follows is woken when what the turn goes on to do has been started: the engines begin first.
    Plans, queries and evidence wait a moment longer, until an engine is at work: telling of them would keep Python's
    lock from the thread that prepares its inputs.
    """

    def __init__(self) -> None:
        self._waiting: deque[TurnEvent] = deque()
        self._changed = asyncio.Event()
        self._closed = False
        self._waking: asyncio.Handle | None = None
        self._soon = False

    def put(self, event: TurnEvent) -> None:
        """Add an event."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(event, AnswerDelta) and isinstance(last, AnswerDelta):
            self._waiting[-1] = replace(last, text=last.text + event.text)
        else:
            self._waiting.append(event)
        self._wake_for(event)

    def close(self) -> None:
        """Nothing more comes; what waits still leaves."""
        self._closed = True
        self._changed.set()

    def _wake_for(self, event: TurnEvent) -> None:
        soon, loop = isinstance(event, _HEARD), asyncio.get_running_loop()
        if self._waking is not None:
            if self._soon or not soon:
                return
            self._waking.cancel()
        self._soon = soon
        self._waking = loop.call_soon(self._wake) if soon else loop.call_later(PATIENCE_S, self._wake)

    def _wake(self) -> None:
        self._waking = None
        self._changed.set()

    async def __aiter__(self) -> AsyncIterator[TurnEvent]:
        """The events in order, until the outbox is closed and empty."""
        while self._waiting or not self._closed:
            if self._waiting:
                yield self._waiting.popleft()
            else:
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def followed(run: Run) -> AsyncGenerator[Outbox, None]:
    """Run a turn as a task, and give its events as they come; leaving early cancels it.

    Args:
        run: the turn.

    Raises:
        Whatever the turn raises, when the events have ended.
    """
    outbox = Outbox()
    work = asyncio.create_task(run(outbox.put))
    work.add_done_callback(lambda _: outbox.close())
    try:
        yield outbox
        if work.done():
            await work
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # retrieved, so that asyncio does not warn
