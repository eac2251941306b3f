"""Speculative work on pictures before a question arrives: what any question about them begins with.

One picture at a time, the newest of each owner, and only while no turn runs: a turn about another picture ends it, one
about the same picture waits for the step under way instead of doing it twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from quizglass_server.assistant.assistant import Assistant
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import QuizglassError
from quizglass_server.scheduling.allowances import check_engines
from quizglass_server.scheduling.clients import current_client
from quizglass_server.scheduling.ledger import ByteLedger, entered_in

logger = logging.getLogger(__name__)

Steps = AsyncGenerator[str, None]
"""Works on a picture; yields the name of each step before it begins."""


@dataclass(frozen=True, eq=False, slots=True)
class _Wish:
    picture: Picture
    look: Callable[[Picture], Steps]
    context: Context
    """Of the client that it is for."""


@dataclass(eq=False, slots=True)
class _Look:
    owner: object
    picture: Picture
    stopping: bool = False
    step_done: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class LookAhead:
    """Looks at pictures before there is a question.

    Args:
        assistant: does it.
    """

    def __init__(self, assistant: Assistant) -> None:
        self._assistant = assistant
        self._waiting: dict[object, _Wish] = {}
        self._current: _Look | None = None
        self._worker: asyncio.Task[None] | None = None

    def add(
        self,
        owner: object,
        picture: Picture,
        ledger: ByteLedger | None = None,
        look: Callable[[Picture], Steps] | None = None,
    ) -> None:
        """Look at a picture when there is time, instead of an earlier one of the same owner that still waits.

        Args:
            owner: who may ask about it.
            picture: what is looked at.
            ledger: counts the bytes handed over; None: they are not counted.
            look: looks at it as the owner's tenant does; None: as the server's own.
        """
        self._waiting.pop(owner, None)
        with entered_in(ledger or ByteLedger()):
            self._waiting[owner] = _Wish(picture, look or self._assistant.look_ahead, copy_context())
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(), name="look ahead")

    def remove(self, owner: object, picture: bytes = b"") -> None:
        """Stop work on an owner's pictures: no question will follow.

        Args:
            owner: who would have asked.
            picture: SHA-256 of the one that is meant; empty: all.
        """
        waiting, job = self._waiting.get(owner), self._current
        if waiting is not None and picture in (b"", waiting.picture.sha256):
            del self._waiting[owner]
        if job is not None and job.owner is owner and job.task is not None and picture in (b"", job.picture.sha256):
            job.task.cancel()

    async def give_way(self, picture: bytes) -> None:
        """Let a turn begin; where it is about the picture that is being looked at, wait for the step under way.

        Args:
            picture: SHA-256 of the turn's picture, which is the current client's; empty: none.
        """
        # Nothing is used of another client's look at the same picture: waiting would only show that there is one.
        name = picture, current_client().owner
        self._waiting = {owner: each for owner, each in self._waiting.items() if _name(each.picture) != name}
        job = self._current
        if job is None or job.task is None:
            return
        if _name(job.picture) != name:
            job.task.cancel()
            return
        job.stopping = True
        await job.step_done.wait()

    async def close(self) -> None:
        """Stop all work, and wait until it has ended."""
        self._waiting.clear()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    async def _work(self) -> None:
        while self._waiting:
            await self._assistant.admission.idle()
            if not self._waiting:
                return
            owner = next(iter(self._waiting))
            wish = self._waiting.pop(owner)
            job = self._current = _Look(owner, wish.picture)
            job.task = asyncio.create_task(_look(job, wish.look), name="look at a picture", context=wish.context)
            try:
                await asyncio.wait({job.task})
            finally:
                job.task.cancel()
                await asyncio.wait({job.task})
                job.step_done.set()
                job.task = None  # which refers to the job, by the frames of how it was cancelled
                self._current = None


def _name(picture: Picture) -> tuple[bytes, str]:
    return picture.sha256, picture.owner


async def _look(job: _Look, look: Callable[[Picture], Steps]) -> None:
    try:
        async with aclosing(look(job.picture)) as steps:
            async for _ in steps:
                job.step_done.set()
                if job.stopping:
                    return
                check_engines()  # or frames would take what the next question needs, and more
                job.step_done.clear()
    except QuizglassError as error:
        logger.debug("a picture could not be looked at: %s", error.message)
    except Exception:
        logger.warning("looking at a picture failed", exc_info=True)
