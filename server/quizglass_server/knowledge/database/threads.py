"""The database on threads of its own, so that neither a slow disk nor a long import holds up the event loop."""

from __future__ import annotations

import asyncio
import atexit
import functools
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.writer import DatabaseWriter
from quizglass_server.steady_clock import Clock

_READERS = 2
_TOGETHER = 64  # jobs that share one commit, and with it one wait for the disk

Result = TypeVar("Result")
Follow = Callable[[Any], None]


@dataclass(slots=True)
class _Job:
    """A job that writes, and who waits for it."""

    run: Callable[[DatabaseWriter], Any]
    follow: Follow | None
    done: Future[Any] = field(default_factory=Future)


class StoreThreads:
    """One thread that writes, in order, and a few that read. A job that has begun runs to its end, even without a
    waiter.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        """Open the database. Raises KnowledgeFailed."""
        self._closed = False
        self._lock = threading.Lock()  # between the last job and the end
        self._reading_here = threading.Lock()
        self._jobs: deque[_Job] = deque()
        self._writer = DatabaseWriter(path, clock)
        self._readers: list[DatabaseReader] = []
        try:
            for _ in range(_READERS + 1):
                self._readers.append(DatabaseReader(path, clock))
        except BaseException:
            self._close_connections()
            raise
        self._writing = ThreadPoolExecutor(1, "knowledge-write")
        self._reading = Readers(self._readers[:_READERS])

    async def read(self, job: Callable[[DatabaseReader], Result]) -> Result:
        """Run a job that reads. Raises what it raises, and KnowledgeFailed after `close`."""
        return await self._reading.run(job)

    def read_here(self, job: Callable[[DatabaseReader], Result]) -> Result:
        """Run a brief job that reads on the calling thread, one at a time: it takes no search's turn.

        Raises what it raises, and KnowledgeFailed after `close`.
        """
        with self._reading_here:
            if self._closed:
                raise closed()
            return job(self._readers[-1])

    async def write(
        self, job: Callable[[DatabaseWriter], Result], follow: Callable[[Result], None] | None = None
    ) -> Result:
        """Run a job that writes, after those before it. Jobs that wait together share one commit.

        `follow` hears, on the writing thread, what the job returned once that is on disk; it is called in the order of
        the jobs, and even if the caller has gone.

        Raises:
            KnowledgeFailed: it could not be written, or the store is closed. Also whatever the job raises.
        """
        result: Result = await asyncio.wrap_future(self._queue(job, follow))
        return result

    def write_and_wait(self, job: Callable[[DatabaseWriter], Result]) -> Result:
        """Run a job like `write`, and block until it is done: for callers on threads of their own."""
        result: Result = self._queue(job, None).result()
        return result

    async def alone(self, job: Callable[[DatabaseWriter], Result]) -> Result:
        """Run a job on the writing thread, outside of any transaction."""
        with self._open():
            done = self._writing.submit(job, self._writer)
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """Wait for the jobs that are under way, then close. Blocks."""
        with self._lock:
            self._closed = True
        self._reading.close()
        self._writing.shutdown()
        with self._reading_here:
            self._close_connections()

    def _queue(self, run: Callable[[DatabaseWriter], Any], follow: Follow | None) -> Future[Any]:
        job = _Job(run, follow)
        job.done.set_running_or_notify_cancel()  # once queued it is done, even without a waiter
        with self._open():
            self._jobs.append(job)
            self._writing.submit(self._write_together)
        return job.done

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Within it the store does not close. Raises KnowledgeFailed when it has."""
        with self._lock:
            if self._closed:
                raise closed()
            yield

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

    def _close_connections(self) -> None:
        for reader in self._readers:
            reader.close()
        self._writer.close()


class Readers:
    """Threads that read, each with a connection of its own.

    A pool of `concurrent.futures` would do, but its futures cost a search a fifteenth of its time. Left open, they are
    closed when the interpreter ends, as those are: a thread that comes back from hnswlib into an interpreter that is
    being taken down would abort the process.
    """

    def __init__(self, readers: Sequence[DatabaseReader]) -> None:
        """Start a thread for each."""
        self._asked: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # between the last question and the end
        self._closed = False
        self._threads = [
            threading.Thread(target=self._serve, args=(reader,), name=f"knowledge-read_{number}", daemon=True)
            for number, reader in enumerate(readers)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    async def run(self, job: Callable[[DatabaseReader], Result]) -> Result:
        """What a job returns or raises, and KnowledgeFailed after `close`. It runs even if the caller goes away."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()
        with self._lock:
            if self._closed:
                raise closed()
            self._asked.put(_Question(job, answer, loop))
        return await answer

    def close(self) -> None:
        """Wait for the jobs that were given, then end. Blocks."""
        atexit.unregister(self.close)
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._asked.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self, reader: DatabaseReader) -> None:
        while (question := self._asked.get()) is not None:
            answer, loop = question.answer, question.loop
            try:
                hand_over = functools.partial(_answer, answer, question.job(reader))
            except BaseException as error:
                hand_over = functools.partial(_fail, answer, error)
            with suppress(RuntimeError):  # the loop is closed: no waiter is left
                loop.call_soon_threadsafe(hand_over)
            del question, answer, hand_over  # nothing of it is kept while idle


@dataclass(slots=True)
class _Question:
    job: Callable[[DatabaseReader], Any]
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


def _answer(waiting: asyncio.Future[Any], outcome: object) -> None:
    if not waiting.done():  # the caller may have gone
        waiting.set_result(outcome)


def _fail(waiting: asyncio.Future[Any], error: BaseException) -> None:
    if not waiting.done():
        waiting.set_exception(error)


def closed() -> KnowledgeFailed:
    """The error for calls after `close`."""
    return KnowledgeFailed("the knowledge store is closed; the server is stopping")
