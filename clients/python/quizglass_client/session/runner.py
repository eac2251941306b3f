"""Where a session lives: on the event loop that runs, or on one of its own for programs that wait for each call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from quizglass_client.errors import closed

Result = TypeVar("Result")


class AsyncRunner:
    """Runs on the event loop that runs already."""

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for work."""
        return await work

    def call(self, work: Callable[[], None]) -> None:
        """Do something that does not wait."""
        work()

    def soon(self, work: Callable[[], None]) -> None:
        """Do something that does not wait, in time."""
        work()

    async def close(self) -> None:
        """Nothing is to be ended."""


class Runner:
    """Runs on an event loop and a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # an abandoned iterator may be collected by the thread that holds it
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="quizglass session", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for work; an interruption of the waiting cancels it.

        Once the runner is closed, what need not wait is still done: earlier events can be read.

        Raises:
            Cancelled: the runner was closed.
        """
        with self._lock:  # what is begun before the loop is closed is cancelled by that
            future = None if self._closed else asyncio.run_coroutine_threadsafe(work, self._loop)
        if future is None:
            self._thread.join()  # what was begun before has ended
            return _without_waiting(work)
        try:
            return future.result()
        except CancelledError:
            raise closed("session") from None
        except BaseException:
            future.cancel()
            raise

    def call(self, work: Callable[[], None]) -> None:
        """Do something that does not wait."""

        async def done() -> None:
            work()

        self.run(done())

    def soon(self, work: Callable[[], None]) -> None:
        """Have something done that does not wait, and do not wait for it: from any thread, the loop's own too."""
        with self._lock:
            if not self._closed:
                self._loop.call_soon_threadsafe(work)

    def close(self) -> None:
        """End the loop with whatever still waits in it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _without_waiting(work: Coroutine[Any, Any, Result]) -> Result:
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise closed("session")


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
