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


class EnginePool:
    """A few threads for engines, so that no model ever runs on the event loop.

    The most urgent work goes first, and what is equally urgent in order of arrival. Background work never takes the
    last thread (unless there is only one), so a turn waits for nothing longer than one run.
    """

    def __init__(self, workers: int) -> None:
        self._jobs: list[_Job] = []
        self._order = count()
        self._changed = Condition()
        self._closed = False
        self._background = 0
        self._most_background = max(1, workers - 1)
        self._threads = [Thread(target=self._serve, name=f"onnx-{n}", daemon=True) for n in range(workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], T], priority: Priority | None = None) -> Future[T]:
        """Queue `work`, which runs in a copy of this context; cancelled before it begins, it never runs.

        Args:
            work: runs on one of the threads.
            priority: the current task's when None.

        Raises:
            EngineFailed: the pool is closed.
        """
        future: Future[T] = Future()
        job = partial(_fulfil, future, partial(contextvars.copy_context().run, work))
        with self._changed:
            if self._closed:
                raise EngineFailed("the engines are closed; the server is stopping")
            at = current_priority() if priority is None else priority
            entry: _Job = (at, next(self._order), job, future.cancel)
            heappush(self._jobs, entry)
            self._changed.notify()
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """`submit`, and wait."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Let running work end and drop the rest."""
        with self._changed:
            self._closed = True
            dropped, self._jobs = self._jobs, []
            self._changed.notify_all()
        for _, _, _, drop in dropped:
            drop()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        give_way()
        while (job := self._next()) is not None:
            priority, _, work, _ = job
            work()
            if priority is Priority.BACKGROUND:
                with self._changed:
                    self._background -= 1
            # Nothing of the work may stay alive while this thread waits.
            del job, work

    def _next(self) -> _Job | None:
        with self._changed:
            while not self._closed:
                if self._jobs:
                    urgent = self._jobs[0][0] is not Priority.BACKGROUND
                    if urgent or self._background < self._most_background:
                        self._background += not urgent
                        return heappop(self._jobs)
                self._changed.wait()
        return None


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
