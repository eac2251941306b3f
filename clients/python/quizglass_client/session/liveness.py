"""When a link is taken for dead: it is asked when it is silent, and at once when the network may have changed.

Knows no gRPC, and of the link's messages only that one came.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from quizglass.session import PostureLimits, SessionLimits

_SILENT_PROGRESS = 2.5
"""Times of `SessionLimits.progress` without a word, during a turn, after which a link is dead."""
_PROBE_S = 1.0
Result = TypeVar("Result")


class LinkDead(Exception):
    """The link says nothing any more, or something has got lost on it."""


@dataclass(frozen=True, slots=True)
class Silence:
    """How long a link may say nothing, in seconds."""

    unasked: float
    """Before it is asked whether it is alive."""
    longest: float
    """Before it is dead, if it was asked in time."""

    @classmethod
    def within(cls, limits: SessionLimits, posture: PostureLimits | None, *, turns: bool) -> Self:
        """What the server's limits allow.

        Args:
            limits: of the session.
            posture: those that came after, if there are any.
            turns: whether the server is answering, and tells of its progress.
        """
        ping = limits.ping if posture is None else posture.ping
        longest = _SILENT_PROGRESS * limits.progress if turns else 2 * ping
        return cls(min(ping, longest / 2), longest)


class LinkLiveness:
    """Judges one link after the other by when something was heard."""

    def __init__(self) -> None:
        self.heard_at = 0.0
        """Time of `time.monotonic` at which something last came from the server."""
        self.hinted = False
        """Whether the network may have changed, and the link was not checked yet."""
        self._stirred = asyncio.Event()
        self._stirred_at = 0.0

    def heard(self) -> None:
        """Something came."""
        self.heard_at = time.monotonic()

    def expect(self) -> None:
        """Something was asked: from now on, silence is not what is expected."""
        self._stirred_at = time.monotonic()
        self._stirred.set()

    def hint(self) -> None:
        """The network may have changed."""
        self.hinted = True
        self._stirred.set()

    async def hurried(self, attempt: Coroutine[Any, Any, Result]) -> Result:
        """What an attempt to connect gives: it may be over a network that is no more, so a hint gives it a second.

        Raises:
            LinkDead: the network may have changed, and the attempt came to nothing since.
        """
        self.hinted = False
        task = asyncio.create_task(attempt)
        try:
            while not self.hinted and not task.done():
                self._stirred.clear()
                stirred = asyncio.create_task(self._stirred.wait())
                try:
                    await asyncio.wait({task, stirred}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    stirred.cancel()
            await asyncio.wait({task}, timeout=_PROBE_S)
            if not task.done():
                raise LinkDead("there was no link yet when the network may have changed")
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def watch(self, silence: Callable[[], Silence], ping: Callable[[], None]) -> None:
        """Ask a silent link whether it is alive, until it does not answer.

        Silence alone proves nothing: the program itself may have stood still, with all that came waiting to be read.

        Args:
            silence: how long it may say nothing now.
            ping: asks it.

        Raises:
            LinkDead: it did not answer.
        """
        asked = 0.0
        while True:
            may = silence()
            now, before = time.monotonic(), max(self.heard_at, self._stirred_at)
            if asked <= before and now - before >= may.unasked:
                ping()
                asked = now
            due = asked + may.longest - may.unasked if asked > before else before + may.unasked
            if now >= due:
                raise LinkDead("the link is silent")
            await self.wait(due - now)
            if self.hinted:
                await self._probe(ping)

    async def wait(self, within: float) -> None:
        """Wait so long, or until something changes what is waited for; a hint that came before is not waited behind."""
        if self.hinted:
            return
        self._stirred.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, within)):
                await self._stirred.wait()

    async def _probe(self, ping: Callable[[], None]) -> None:
        """The network may have changed: a link that does not answer at once is dead."""
        self.hinted, before = False, self.heard_at
        ping()
        await asyncio.sleep(_PROBE_S)
        if self.heard_at == before:
            raise LinkDead("the link does not answer since the network may have changed")
