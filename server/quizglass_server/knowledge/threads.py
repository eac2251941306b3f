"""The truth on threads of its own, so that neither a slow disk nor a long import holds up the event loop."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.reader import Reader
from quizglass_server.knowledge.writer import Writer

_READERS = 2

Result = TypeVar("Result")


class StoreThreads:
    """One thread that writes, in order, and a few that read. A job that has begun ends, even if nobody waits."""

    def __init__(self, path: Path) -> None:
        """Open the truth. Raises KnowledgeFailed."""
        self._writer = Writer(path)
        self._idle: queue.SimpleQueue[Reader] = queue.SimpleQueue()
        self._closed = False
        try:
            for _ in range(_READERS):
                self._idle.put(Reader(path))
        except BaseException:
            self._close_connections()
            raise
        self._writing = ThreadPoolExecutor(1, "knowledge-write")
        self._reading = ThreadPoolExecutor(_READERS, "knowledge-read")

    async def read(self, job: Callable[[Reader], Result]) -> Result:
        """Run a job that reads. Raises what it raises, and KnowledgeFailed after `close`."""

        def borrow() -> Result:
            reader = self._idle.get()
            try:
                return job(reader)
            finally:
                self._idle.put(reader)

        return await asyncio.wrap_future(self._submit(self._reading, borrow))

    async def write(self, job: Callable[[Writer], Result]) -> Result:
        """Run a job that writes, after those before it. Raises what it raises, and KnowledgeFailed after `close`."""
        return await asyncio.wrap_future(self._submit(self._writing, lambda: job(self._writer)))

    def write_and_wait(self, job: Callable[[Writer], Result]) -> Result:
        """As `write`, for callers on threads of their own."""
        return self._submit(self._writing, lambda: job(self._writer)).result()

    def close(self) -> None:
        """Wait for the jobs that are under way, then close. Blocks."""
        self._closed = True
        self._reading.shutdown()
        self._writing.shutdown()
        self._close_connections()

    def _submit(self, threads: ThreadPoolExecutor, job: Callable[[], Result]) -> Future[Result]:
        if self._closed:
            raise KnowledgeFailed("the knowledge store is closed; the server is stopping")
        return threads.submit(job)

    def _close_connections(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()
        self._writer.close()
