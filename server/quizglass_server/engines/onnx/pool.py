"""The threads that run ONNX models: what goes first is decided when a thread is free, not when work is handed in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from heapq import heappop, heappush
from itertools import count
from threading import Condition, Thread
from typing import TypeVar

from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.cores import give_way
from quizglass_server.scheduling.priority import Priority, current_priority

T = TypeVar("T")
_Job = tuple[Priority, int, Callable[[], None], Callable[[], bool]]
"""Priority, order of arrival, the work, and what drops it."""


class _Lane:
    """Threads that work off one queue, the most urgent first; `behind` is how often they give way to other threads."""

    def __init__(self, name: str, threads: int, behind: int) -> None:
        self._jobs: list[_Job] = []
        self._order = count()
        self._changed = Condition()
        self._closed = False
        self._behind = behind
        self._threads = [Thread(target=self._serve, name=f"{name}-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def put(self, priority: Priority, work: Callable[[], None], drop: Callable[[], bool]) -> None:
        """Queue work. Raises EngineFailed when it is closed."""
        with self._changed:
            if self._closed:
                raise EngineFailed("the engines are closed; the server is stopping")
            heappush(self._jobs, (priority, next(self._order), work, drop))
            self._changed.notify()

    def drop(self) -> None:
        """Begin nothing more."""
        with self._changed:
            self._closed = True
            dropped, self._jobs = self._jobs, []
            self._changed.notify_all()
        for _, _, _, drop in dropped:
            drop()

    def join(self) -> None:
        """Wait for what runs."""
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        for _ in range(self._behind):
            give_way()
        while (job := self._next()) is not None:
            job[2]()
            # Nothing of the work may stay alive while this thread waits.
            del job

    def _next(self) -> _Job | None:
        with self._changed:
            while not self._closed:
                if self._jobs:
                    return heappop(self._jobs)
                self._changed.wait()
        return None


class EnginePool:
    """A few threads for engines, so that no model ever runs on the event loop.

    The most urgent work goes first, and what is equally urgent in order of arrival. Background work has threads of its
    own, one less than there are for turns and at least one, of a lower priority: no turn waits for it to end, and it
    gets the cores that no turn wants.
    """

    def __init__(self, workers: int) -> None:
        self._turns = _Lane("onnx", workers, behind=1)
        self._background = _Lane("onnx-background", max(1, workers - 1), behind=2)

    def submit(self, work: Callable[[], T], priority: Priority | None = None) -> Future[T]:
        """Queue `work`, which runs in a copy of this context; cancelled before it begins, it never runs.

        Args:
            work: runs on one of the threads.
            priority: the current task's when None.

        Raises:
            EngineFailed: the pool is closed.
        """
        future: Future[T] = Future()
        at = current_priority() if priority is None else priority
        lane = self._background if at is Priority.BACKGROUND else self._turns
        lane.put(at, partial(_fulfil, future, partial(contextvars.copy_context().run, work)), future.cancel)
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """`submit`, and wait."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Let running work end and drop the rest."""
        for lane in (self._turns, self._background):
            lane.drop()
        for lane in (self._turns, self._background):
            lane.join()


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
