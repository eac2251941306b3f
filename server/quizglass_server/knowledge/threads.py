"""The truth on threads of its own, so that neither a slow disk nor a long import holds up the event loop."""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.clock import Clock
from quizglass_server.knowledge.reader import Reader
from quizglass_server.knowledge.writer import Writer

_READERS = 2
_TOGETHER = 64  # jobs that share one commit, and with it one wait for the disk

Result = TypeVar("Result")
Follow = Callable[[Any], None]


@dataclass(slots=True)
class _Job:
    """A job that writes, and who waits for it."""

    run: Callable[[Writer], Any]
    follow: Follow | None
    done: Future[Any] = field(default_factory=Future)


class StoreThreads:
    """One thread that writes, in order, and a few that read. A job that has begun ends, even if nobody waits."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Open the truth. Raises KnowledgeFailed."""
        self._writer = Writer(path, clock)
        self._idle: queue.SimpleQueue[Reader] = queue.SimpleQueue()
        self._closed = False
        self._jobs: deque[_Job] = deque()
        try:
            for _ in range(_READERS):
                self._idle.put(Reader(path, clock))
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

    async def write(self, job: Callable[[Writer], Result], follow: Callable[[Result], None] | None = None) -> Result:
        """Run a job that writes, after those before it. Jobs that wait together share one commit.

        `follow` hears, on the writing thread, what the job returned once that is on disk; it is called in the order of
        the jobs, and even if the caller has gone.

        Raises:
            KnowledgeFailed: it could not be written, or the store is closed. Also whatever the job raises.
        """
        result: Result = await asyncio.wrap_future(self._queue(job, follow))
        return result

    def write_and_wait(self, job: Callable[[Writer], Result]) -> Result:
        """As `write`, for callers on threads of their own."""
        result: Result = self._queue(job, None).result()
        return result

    async def alone(self, job: Callable[[Writer], Result]) -> Result:
        """Run a job on the writing thread, outside of any transaction."""
        return await asyncio.wrap_future(self._submit(self._writing, lambda: job(self._writer)))

    def close(self) -> None:
        """Wait for the jobs that are under way, then close. Blocks."""
        self._closed = True
        self._reading.shutdown()
        self._writing.shutdown()
        self._close_connections()

    def _queue(self, run: Callable[[Writer], Any], follow: Follow | None) -> Future[Any]:
        job = _Job(run, follow)
        job.done.set_running_or_notify_cancel()  # once queued it is done, even if nobody waits
        self._jobs.append(job)
        try:
            self._submit(self._writing, self._write_together)
        except KnowledgeFailed:
            self._jobs.remove(job)
            raise
        return job.done

    def _write_together(self) -> None:
        """Commit the jobs that wait; finds none when an earlier call has taken them along."""
        jobs = [self._jobs.popleft() for _ in range(min(_TOGETHER, len(self._jobs)))]
        if not jobs:
            return
        try:
            outcomes = self._writer.run([job.run for job in jobs])
        except BaseException as error:
            for job in jobs:
                job.done.set_exception(error)
            return
        for job, outcome in zip(jobs, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                job.done.set_exception(outcome)
                continue
            try:
                if job.follow is not None:
                    job.follow(outcome)
                job.done.set_result(outcome)
            except BaseException as error:
                job.done.set_exception(error)

    def _submit(self, threads: ThreadPoolExecutor, job: Callable[[], Result]) -> Future[Result]:
        if self._closed:
            raise KnowledgeFailed("the knowledge store is closed; the server is stopping")
        return threads.submit(job)

    def _close_connections(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()
        self._writer.close()
