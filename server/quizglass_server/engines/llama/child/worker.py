"""The engine's thread, and its face to the event loop.

Requests are handed over to the thread and what they give comes back; closing or cancelling a call cancels its request.
Knows nothing of gRPC.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import TypeVar

from quizglass_server.engines.llama.child.mailbox import Deliveries, Mailbox
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.link.prompt import (
    Constraint,
    EngineStats,
    Finished,
    Part,
    Piece,
    Terms,
    TextPart,
    Usage,
)
from quizglass_server.engines.llama.prefixes.files import PrefixFiles
from quizglass_server.scheduling.cores import give_way

BROKEN_STATUS = 4
"""Exit status of a process whose engine is in an unknown state."""
_LONG_TEXT = 8192
"""Characters of a prompt from which on it is tokenised beside the event loop."""
_BACKGROUND = Terms(priority=2)
_TURN = Terms()

T = TypeVar("T")
logger = logging.getLogger(__name__)


class EngineWorker:
    """Owns an engine and its thread; every method belongs to one event loop."""

    def __init__(self, on_broken: Callable[[], None] = lambda: os._exit(BROKEN_STATUS)) -> None:
        """Make a worker.

        Args:
            on_broken: called in the engine's thread when it cannot go on; by default the process ends, and its
                supervisor starts another.
        """
        self._engine: Engine | None = None
        self._outbox: Deliveries | None = None
        self._prefix_files: PrefixFiles | None = None
        self._on_broken = on_broken

    @property
    def pending(self) -> int:
        """Requests waiting for or in the engine."""
        return self.engine.pending if self._engine else 0

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
        self._outbox = Deliveries(asyncio.get_running_loop())
        loaded: Mailbox[Engine] = Mailbox(self._outbox)
        Thread(target=self._run, args=(load, loaded, self._outbox), name="engine", daemon=True).start()
        (self._engine,) = await loaded.take()

    async def generate(
        self, prompt: Sequence[Part], max_tokens: int, terms: Terms = _TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[list[Piece | Finished], None]:
        """Pieces as they gather, then the end. Closing it cancels after at most one more decode step.

        Raises:
            RequestRefused: the prompt does not fit or is not well formed, or the constraint cannot be understood.
            Busy: the queue is full, or the deadline cannot be met because of others.
            TooLate: the deadline cannot be met in any case.
            DecodeFailed: llama.cpp failed on this request.
        """
        mailbox: Mailbox[Piece | Finished] = self._mailbox()
        # A constraint is compiled beside the event loop: a schema may take milliseconds.
        apart = constraint is not None or _long(prompt)
        request = await _made(
            lambda: self.engine.builder.generation(prompt, max_tokens, terms, constraint, sink=mailbox), apart=apart
        )
        self.engine.submit(request)
        try:
            while True:
                items = await mailbox.take()
                yield items
                if items and isinstance(items[-1], Finished):
                    return
        finally:
            self.engine.cancel(request)

    async def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], terms: Terms = _TURN
    ) -> tuple[list[float], Usage]:
        """Probabilities of labels by all their tokens, normalised over the labels; errors as `generate`.

        A deadline that passes is `TooLate`, or `Busy` if nothing had begun. Cancelling cancels the engine's work.
        """
        mailbox: Mailbox[tuple[list[float], Usage]] = self._mailbox()
        make = lambda: self.engine.builder.choice(prompt, labels, terms, sink=mailbox)  # noqa: E731
        return await self._only(mailbox, await _made(make, apart=_long(prompt)))

    async def prefill(self, prompt: Sequence[Part], terms: Terms = _BACKGROUND) -> Usage:
        """Read a prompt, or its beginning, ahead of the request that needs it; otherwise as `choose`.

        It is kept in memory as long as nothing newer needs the room. Cancelling it drops what is left to read.
        """
        mailbox: Mailbox[Usage] = self._mailbox()
        make = lambda: self.engine.builder.warm_up(prompt, terms, sink=mailbox)  # noqa: E731
        return await self._only(mailbox, await _made(make, apart=_long(prompt)))

    async def save(self, directory: Path) -> int:
        """Write the kept prefixes to a directory, replacing those there; how many there are.

        Raises:
            OSError: they cannot be written.
        """
        return await self._files().save(directory)

    async def restore(self, directory: Path) -> int:
        """Take over prefixes that were saved with the same files and options, as long as there is room; how many."""
        return await self._files().restore(directory)

    def get_ready_to_save(self) -> None:
        """Do beforehand, in the background, what saving needs and takes long."""
        self._files().get_ready()

    def stats(self) -> EngineStats:
        """How the engine is; never waits for it."""
        return self.engine.stats()

    async def _only(self, mailbox: Mailbox[T], request: Request) -> T:
        """Submit a request that gives one thing, and wait for it."""
        self.engine.submit(request)
        try:
            return (await mailbox.take())[0]
        finally:
            self.engine.cancel(request)

    async def _called(self, action: Callable[[], T]) -> T:
        """Run something in the engine's thread, between two steps."""
        mailbox: Mailbox[T] = self._mailbox()

        def guarded() -> None:
            try:
                mailbox.put(action())
            except Exception as error:
                mailbox.put(error)

        self.engine.call(guarded)
        return (await mailbox.take())[0]

    def _files(self) -> PrefixFiles:
        if self._prefix_files is None:
            self._prefix_files = PrefixFiles(self.engine.model, self.engine.prefixes, self._called)
        return self._prefix_files

    def _mailbox(self) -> Mailbox[T]:
        if self._outbox is None:
            raise RuntimeError("the engine has not been loaded")
        return Mailbox(self._outbox)

    def _run(self, load: Callable[[], Engine], loaded: Mailbox[Engine], outbox: Deliveries) -> None:
        give_way()  # and llama.cpp's threads with it, which this one starts
        try:
            engine = load()
        except Exception as error:
            loaded.put(error)
            outbox.flush()
            return
        loaded.put(engine)
        outbox.flush()
        engine.flush = outbox.flush
        try:
            while True:
                engine.step()
        except Exception:
            logger.critical("the engine cannot go on; its process ends", exc_info=True)
            self._on_broken()


async def _made(make: Callable[[], Request], *, apart: bool) -> Request:
    """A request, made beside the event loop where that may take long."""
    return await asyncio.to_thread(make) if apart else make()


def _long(prompt: Sequence[Part]) -> bool:
    return sum(len(part.text) for part in prompt if isinstance(part, TextPart)) > _LONG_TEXT
