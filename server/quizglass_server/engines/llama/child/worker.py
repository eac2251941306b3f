"""The engine's thread, and what the event loop asks of it.

Requests are handed over to the thread and what they give comes back; closing or cancelling a call cancels its request.
Knows nothing of the connection to the server.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from quizglass_server.engines.llama.child.mailbox import Deliveries, Mailbox
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.link.prompt import (
    BACKGROUND,
    TURN,
    Constraint,
    Finished,
    Part,
    Piece,
    TextPart,
    Urgency,
    Usage,
)
from quizglass_server.engines.llama.prefixes.files import PrefixFiles
from quizglass_server.scheduling.cores import give_way

BROKEN_STATUS = 4
"""Exit status of a process whose engine is in an unknown state."""
_LONG_TEXT = 8192
"""Characters of a prompt from which on it is tokenised beside the event loop."""

T = TypeVar("T")
logger = logging.getLogger(__name__)


class EngineWorker:
    """Owns an engine and its thread; every method belongs to one event loop."""

    def __init__(self, engine: Engine, outbox: Deliveries) -> None:
        """For `start` only."""
        self.engine = engine
        """Only counters may be read from other threads."""
        self.files = PrefixFiles(engine.model, engine.prefixes, self._called)
        """Saves and restores kept prefixes."""
        self._outbox = outbox

    @classmethod
    async def start(
        cls, load: Callable[[], Engine], on_broken: Callable[[], None] = lambda: os._exit(BROKEN_STATUS)
    ) -> EngineWorker:
        """Start the thread and load the engine in it, so that one thread makes every call of llama.cpp.

        Args:
            load: makes the engine.
            on_broken: called in the engine's thread when it cannot go on; by default the process ends, and its
                supervisor starts another.

        Raises:
            LoadFailed: as `load` does.
        """
        outbox = Deliveries(asyncio.get_running_loop())
        loaded: Mailbox[Engine] = Mailbox(outbox)
        Thread(target=_run, args=(load, loaded, outbox, on_broken), name="engine", daemon=True).start()
        (engine,) = await loaded.take()
        return cls(engine, outbox)

    async def generate(
        self, prompt: Sequence[Part], max_tokens: int, urgency: Urgency = TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[list[Piece | Finished], None]:
        """Pieces as they gather, then the end. Closing it cancels after at most one more decode step.

        Raises:
            RequestRefused: the prompt does not fit or is not well formed, or the constraint cannot be understood.
            Busy: the queue is full, or the deadline cannot be met because of others.
            TooLate: the deadline cannot be met in any case.
            DecodeFailed: llama.cpp failed on this request.
        """
        mailbox: Mailbox[Piece | Finished] = Mailbox(self._outbox)
        # A constraint is compiled beside the event loop: a grammar may take milliseconds.
        apart = constraint is not None or _long(prompt)
        make = partial(self.engine.builder.generation, prompt, max_tokens, urgency, constraint, sink=mailbox)
        request = await _made(make, apart=apart)
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
        self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency = TURN
    ) -> tuple[list[float], Usage]:
        """Probabilities of labels by all their tokens, normalised over the labels; errors as `generate`.

        A deadline that passes is `TooLate`, or `Busy` if nothing had begun. Cancelling cancels the engine's work.
        """
        result: tuple[list[float], Usage] = await self._only(
            prompt, partial(self.engine.builder.choice, prompt, labels, urgency)
        )
        return result

    async def prefill(self, prompt: Sequence[Part], urgency: Urgency = BACKGROUND) -> Usage:
        """Read a prompt, or its beginning, ahead of the request that needs it; otherwise as `choose`.

        It is kept in memory as long as nothing newer needs the room. Cancelling it drops what is left to read.
        """
        usage: Usage = await self._only(prompt, partial(self.engine.builder.prefill, prompt, urgency))
        return usage

    async def forget(self) -> int:
        """Keep nothing of the prompts and pictures so far, those of running requests included: how many went."""
        return await self._called(self.engine.forget)

    async def _only(self, prompt: Sequence[Part], make: Callable[..., Request]) -> Any:
        """Submit a request that gives one thing, and wait for it."""
        mailbox: Mailbox[Any] = Mailbox(self._outbox)
        request = await _made(partial(make, sink=mailbox), apart=_long(prompt))
        self.engine.submit(request)
        try:
            return (await mailbox.take())[0]
        finally:
            self.engine.cancel(request)

    async def _called(self, action: Callable[[], T]) -> T:
        """Run something in the engine's thread, between two steps."""
        mailbox: Mailbox[T] = Mailbox(self._outbox)

        def guarded() -> None:
            try:
                mailbox.put(action())
            except Exception as error:
                mailbox.put(error)

        self.engine.call(guarded)
        return (await mailbox.take())[0]


def _run(
    load: Callable[[], Engine], loaded: Mailbox[Engine], outbox: Deliveries, on_broken: Callable[[], None]
) -> None:
    """The engine's thread."""
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
        on_broken()


async def _made(make: Callable[[], Request], *, apart: bool) -> Request:
    """A request, made beside the event loop where that may take long."""
    return await asyncio.to_thread(make) if apart else make()


def _long(prompt: Sequence[Part]) -> bool:
    return sum(len(part.text) for part in prompt if isinstance(part, TextPart)) > _LONG_TEXT
