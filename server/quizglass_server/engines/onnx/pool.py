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

    The most urgent work goes first, and what is equally urgent in order of arrival. Background work has threads of its
    own, one less than there are for turns and at least one, of a lower priority: no turn waits for it to end, and it
    gets the cores that no turn wants.
    """

    def __init__(self, workers: int) -> None:
        self._urgent: list[_Job] = []
        self._background: list[_Job] = []
        self._order = count()
        self._changed = Condition()
        self._closed = False
        behind = max(1, workers - 1)
        self._threads = [
            *(Thread(target=self._serve, args=(self._urgent,), name=f"onnx-{n}") for n in range(workers)),
            *(Thread(target=self._serve, args=(self._background,), name=f"onnx-b{n}") for n in range(behind)),
        ]
        for thread in self._threads:
            thread.daemon = True
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
            heappush(self._background if at is Priority.BACKGROUND else self._urgent, entry)
            self._changed.notify_all()
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """`submit`, and wait."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Let running work end and drop the rest."""
        with self._changed:
            self._closed = True
            dropped = [*self._urgent, *self._background]
            self._urgent.clear()
            self._background.clear()
            self._changed.notify_all()
        for _, _, _, drop in dropped:
            drop()
        for thread in self._threads:
            thread.join()

    def _serve(self, jobs: list[_Job]) -> None:
        give_way()
        if jobs is self._background:
            give_way()
        while (job := self._next(jobs)) is not None:
            job[2]()
            # Nothing of the work may stay alive while this thread waits.
            del job

    def _next(self, jobs: list[_Job]) -> _Job | None:
        with self._changed:
            while not self._closed:
                if jobs:
                    return heappop(jobs)
                self._changed.wait()
        return None


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
