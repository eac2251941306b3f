"""Sightings that wait to be written to the visual memory: a bounded queue that never holds up a turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from quizglass_server.config.logs import RateLimitedLogger
from quizglass_server.domain.sightings import Seen
from quizglass_server.errors import QuizglassError
from quizglass_server.scheduling.priority import Priority, at_priority

logger = logging.getLogger(__name__)

_MOST_WAITING = 64
_REST_S, _LONGEST_REST = 0.01, 100  # a rest while turns run, and how many of them follow each other
_MOST_PIXEL_BYTES = 64 << 20  # of decoded frames that wait; one alone may be larger


class SightingQueue:
    """A queue and the task that writes what is in it. A sighting that does not fit or fails is counted and logged."""

    def __init__(self, write: Callable[[Seen], Awaitable[None]], busy: Callable[[], bool]) -> None:
        """Write with `write`, in the order in which sightings came; needs a running event loop.

        While turns are running (`busy`) it rests before each, the less the more wait.
        """
        self._write = write
        self._busy = busy
        self._crowded = RateLimitedLogger(logger)
        self._settling = 0
        self._queue: asyncio.Queue[Seen | asyncio.Future[None]] = asyncio.Queue()
        self._pixel_bytes = 0
        self.waiting = 0
        """Sightings that are not yet written."""
        self.remembered = 0
        self.dropped = 0
        self.failed = 0
        self._task = asyncio.create_task(self._work(), name="visual memory")

    def put(self, seen: Seen) -> None:
        """Take a sighting, or leave it out when too many wait. Returns at once and raises nothing."""
        size = seen.picture.pixels.nbytes
        if self.waiting and (self.waiting >= _MOST_WAITING or self._pixel_bytes + size > _MOST_PIXEL_BYTES):
            self.dropped += 1
            self._crowded.warning("a sighting is not remembered: too many wait", waiting=self.waiting)
            return
        self.waiting += 1
        self._pixel_bytes += size
        self._queue.put_nowait(seen)

    async def settle(self) -> None:
        """Wait until what was put before this call is written, has failed, or is lost because the server stops."""
        if self._task.done():
            return
        reached = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(reached)
        self._settling += 1
        try:
            await reached
        finally:
            self._settling -= 1

    async def close(self, patience_s: float) -> None:
        """Write what waits, as far as `patience_s` seconds go or until cancelled, and take no more."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await self.settle()
        finally:
            await self._end()

    async def _end(self) -> None:
        lost = self.waiting  # the one that is being written among them
        self._task.cancel()
        await asyncio.wait({self._task})
        while not self._queue.empty():  # who waits for them waits no longer
            item = self._queue.get_nowait()
            if not isinstance(item, Seen) and not item.done():
                item.set_result(None)
        if lost:
            logger.warning("sightings are lost: the server stops", extra={"waiting": lost})

    async def _work(self) -> None:
        with at_priority(Priority.BACKGROUND):
            while True:
                item = await self._queue.get()
                if isinstance(item, Seen):
                    await self._rest()
                    await self._one(item)
                elif not item.done():
                    item.set_result(None)

    async def _rest(self) -> None:
        for _ in range(_LONGEST_REST // self.waiting**2):
            if self._settling or not self._busy():
                return
            await asyncio.sleep(_REST_S)

    async def _one(self, seen: Seen) -> None:
        about = {"turn": seen.sighting.id}
        try:
            await self._write(seen)
            self.remembered += 1
            logger.info("sighting remembered", extra={"audit": True, **about, "count": 1})
        except QuizglassError as error:
            self.failed += 1
            logger.warning("a sighting is lost", extra={**about, "code": error.code, "reason": error.message})
        except Exception:
            self.failed += 1
            logger.exception("a sighting is lost", extra=about)
        finally:
            self.waiting -= 1
            self._pixel_bytes -= seen.picture.pixels.nbytes
