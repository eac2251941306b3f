"""The one thread that owns llama.cpp, and the queue in front of it: first come, first served.

Requests are handed over from the event loop and their results come back to it; a request whose caller has left is
dropped before the engine sees it. Knows nothing of gRPC.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Generic, TypeVar

from quizglass_server.engines.llama.engine import Cancelled, Engine
from quizglass_server.engines.llama.prompt import Finished, Part, Piece, Usage

GATHER_S = 0.01
"""Tokens of a fast model share messages, which cost more than they do; of a slow one each is sent as it comes."""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Mailbox(Generic[T]):
    """What a request gives, from the engine thread to the event loop, woken once for all that has gathered."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: deque[T | BaseException] = deque()
        self._arrived = asyncio.Event()
        self._woken = False
        self.cancelled = False
        """Set by the event loop; the engine thread looks at it between decode steps."""

    def put(self, item: T | BaseException, *, wake: bool = True) -> None:
        """Called by the engine thread; without `wake` the item waits for the next one that wakes."""
        self._items.append(item)
        if wake and not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._arrived.set)

    async def take(self) -> list[T]:
        """Everything that has arrived, at least one item; raises what the engine thread put as an error."""
        # Woken for an item that the last call has taken already, it waits on.
        while not self._items:
            await self._arrived.wait()
            self._arrived.clear()
            # Cleared before the items are taken: what is put afterwards wakes the loop again.
            self._woken = False
        taken: list[T] = []
        while self._items:
            item = self._items.popleft()
            if not isinstance(item, BaseException):
                taken.append(item)
            elif taken:
                # What came before the error is given first.
                self._items.appendleft(item)
                break
            else:
                raise item
        return taken


class EngineWorker:
    """Owns an engine and its thread."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[Engine], None]] = SimpleQueue()
        self._engine: Engine | None = None
        # Each counted by one thread alone: the event loop's and the engine's.
        self._submitted = self._ended = 0

    @property
    def pending(self) -> int:
        """Requests waiting for or in the engine."""
        return self._submitted - self._ended

    @property
    def engine(self) -> Engine:
        """The engine; only counters may be read from other threads."""
        if self._engine is None:
            raise RuntimeError("the engine has not been loaded")
        return self._engine

    async def load(self, load: Callable[[], Engine]) -> None:
        """Start the thread and load the engine in it, so that one thread makes every call of llama.cpp.

        Raises:
            LoadFailed: as `load` does.
        """
        loaded: Mailbox[Engine] = Mailbox()
        Thread(target=self._run, args=(load, loaded), name="engine", daemon=True).start()
        (self._engine,) = await loaded.take()

    async def generate(self, prompt: Sequence[Part], max_tokens: int) -> AsyncGenerator[list[Piece | Finished], None]:
        """Pieces as they gather, then the end. Closing it cancels after at most one more decode step.

        Raises:
            RequestRefused, DecodeFailed: as the engine does.
        """
        mailbox: Mailbox[Piece | Finished] = Mailbox()

        def job(engine: Engine) -> None:
            mailbox.put(engine.generate(prompt, max_tokens, _gathering(mailbox), lambda: mailbox.cancelled))

        self._submit(mailbox, job)
        try:
            while True:
                items = await mailbox.take()
                yield items
                if items and isinstance(items[-1], Finished):
                    return
        finally:
            mailbox.cancelled = True

    async def choose(self, prompt: Sequence[Part], labels: Sequence[str]) -> tuple[list[float], Usage]:
        """Probabilities of labels. Cancelling it cancels the engine's work.

        Raises:
            RequestRefused, DecodeFailed: as the engine does.
        """
        mailbox: Mailbox[tuple[list[float], Usage]] = Mailbox()
        self._submit(mailbox, lambda engine: mailbox.put(engine.choose(prompt, labels, lambda: mailbox.cancelled)))
        try:
            return (await mailbox.take())[0]
        finally:
            mailbox.cancelled = True

    def _submit(self, mailbox: Mailbox[T], job: Callable[[Engine], None]) -> None:
        def guarded(engine: Engine) -> None:
            try:
                if not mailbox.cancelled:
                    job(engine)
            except Cancelled:
                logger.debug("a request was cancelled")
            except Exception as error:
                mailbox.put(error)
            finally:
                self._ended += 1

        self._submitted += 1
        self._jobs.put(guarded)

    def _run(self, load: Callable[[], Engine], loaded: Mailbox[Engine]) -> None:
        try:
            engine = load()
        except Exception as error:
            loaded.put(error)
            return
        loaded.put(engine)
        while True:
            self._jobs.get()(engine)


def _gathering(mailbox: Mailbox[Piece | Finished]) -> Callable[[Piece], None]:
    """Puts pieces at once, but those that come within `GATHER_S` of the last wake together with a later one."""
    last = -GATHER_S

    def put(piece: Piece) -> None:
        nonlocal last
        now = monotonic()
        wake = now - last >= GATHER_S
        if wake:
            last = now
        mailbox.put(piece, wake=wake)

    return put
