"""The threads that run ONNX models: some for turns, and others, for background work, on cores that no turn wants."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Condition, Thread
from typing import TypeVar

from quizglass_server.engines.onnx.ending import Interest, waited_for
from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.cores import give_way
from quizglass_server.scheduling.priority import Priority, current_priority

T = TypeVar("T")
_Job = tuple[Callable[[], None], Callable[[], bool]]
"""The work, and what drops it."""


class _Lane:
    """Threads that work off one queue in order, and before it what is to go ahead.

    Args:
        name: of the threads.
        threads: how many there are.
        behind: how often they give way to other threads.
    """

    def __init__(self, name: str, threads: int, behind: int) -> None:
        self._ahead: deque[_Job] = deque()
        self._jobs: deque[_Job] = deque()
        self._changed = Condition()
        self._closed = False
        self._behind = behind
        self._threads = [Thread(target=self._serve, name=f"{name}-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def put(self, work: Callable[[], None], drop: Callable[[], bool], *, ahead: bool) -> None:
        """Queue work. Raises EngineFailed when it is closed."""
        with self._changed:
            if self._closed:
                raise EngineFailed("the engines are closed; the server is stopping")
            (self._ahead if ahead else self._jobs).append((work, drop))
            self._changed.notify()

    def drop(self) -> None:
        """Begin nothing more."""
        with self._changed:
            self._closed = True
            dropped = [*self._ahead, *self._jobs]
            self._ahead.clear()
            self._jobs.clear()
            self._changed.notify_all()
        for _, drop in dropped:
            drop()

    def join(self) -> None:
        """Wait for what runs."""
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        for _ in range(self._behind):
            give_way()
        while (job := self._next()) is not None:
            job[0]()
            # Nothing of the work may stay alive while this thread waits.
            del job

    def _next(self) -> _Job | None:
        with self._changed:
            while not self._closed:
                if jobs := self._ahead or self._jobs:
                    return jobs.popleft()
                self._changed.wait()
        return None


class _Submitted(Future[T]):
    """What becomes of submitted work. Cancelled while it runs, the work is ended, and fails in vain."""

    def __init__(self) -> None:
        super().__init__()
        self.interest = Interest()

    def cancel(self) -> bool:
        if super().cancel():
            return True
        self.interest.lose()
        return False


class EnginePool:
    """A few threads for engines, so that no model ever runs on the event loop.

    Work goes in order of arrival, that of `Priority.AHEAD` first. Background work, and that of turns that are behind,
    has threads of its own, one less than there are for turns and at least one, of a lower priority: no other turn waits
    for it to end.

    Left open, it is closed when the interpreter ends: a thread that comes back from ONNX Runtime into an interpreter
    that is being taken down would abort the process.
    """

    def __init__(self, workers: int) -> None:
        self._turns = _Lane("onnx", workers, behind=1)
        self._background = _Lane("onnx-background", max(1, workers - 1), behind=2)
        atexit.register(self.close)

    def submit(self, work: Callable[[], T], priority: Priority | None = None) -> Future[T]:
        """Queue `work`, which runs in a copy of this context.

        Cancelled before it begins, it never runs; cancelled while a model runs in it, that run is ended.

        Args:
            work: runs on one of the threads.
            priority: the current task's when None.

        Raises:
            EngineFailed: the pool is closed.
        """
        future = _Submitted[T]()
        at = current_priority() if priority is None else priority
        lane = self._background if at in (Priority.BACKGROUND, Priority.BEHIND) else self._turns
        begin = partial(_fulfil, future, partial(contextvars.copy_context().run, _while_waited_for, future, work))
        lane.put(begin, future.cancel, ahead=at is Priority.AHEAD)
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """`submit`, and wait."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Let running work end and drop the rest."""
        atexit.unregister(self.close)
        for lane in (self._turns, self._background):
            lane.drop()
        for lane in (self._turns, self._background):
            lane.join()


def _fulfil(future: _Submitted[T], work: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)


def _while_waited_for(future: _Submitted[T], work: Callable[[], T]) -> T:
    with waited_for(future.interest):
        return work()
