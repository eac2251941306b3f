"""The methods of the generator process: convert, call, convert."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.engine.constraint import MAX_LABELS
from quizglass_server.engines.llama.link.frames import Answering
from quizglass_server.engines.llama.link.pixels import PictureUnknown, PixelStore
from quizglass_server.engines.llama.link.prompt import (
    Busy,
    Constraint,
    ConstraintRefused,
    EngineStats,
    Failure,
    Finished,
    Part,
    Piece,
    ProcessInfo,
    RequestRefused,
    Terms,
    TooLate,
    Usage,
)
from quizglass_server.engines.llama.native.errors import DecodeFailed

SHORTEST_INTERVAL_S = 0.001
logger = logging.getLogger(__name__)


class GeneratorService:
    """The calls that a generator process answers, over an engine worker."""

    def __init__(self, worker: EngineWorker, description: str, context: int, threads: int) -> None:
        self._worker = worker
        self._description = description
        self._context = context
        self._threads = threads
        self._pixels = PixelStore()
        self._methods: dict[str, Callable[..., AsyncGenerator[object, None]]] = {
            method.__name__: method
            for method in (self.generate, self.choose, self.prefill, self.info, self.watch, self.save)
        }

    def connection(self) -> Answering:
        """The server's end of a new connection."""
        return Answering(self._answer, to_failure)

    async def generate(
        self, prompt: list[Part], max_tokens: int, terms: Terms, constraint: Constraint | None
    ) -> AsyncGenerator[list[Piece | Finished], None]:
        """Complete a prompt; a cancelled call closes the worker's stream, which stops the engine."""
        if max_tokens == 0:
            raise RequestRefused("max_tokens is 0; at least 1 token must be asked for")
        stream = self._worker.generate(self._pixels.complete(prompt), max_tokens, terms, constraint)
        async with aclosing(stream):
            async for items in stream:
                yield items

    async def choose(
        self, prompt: list[Part], labels: list[str], terms: Terms
    ) -> AsyncGenerator[tuple[list[float], Usage], None]:
        """Probabilities of labels."""
        if not 0 < len(labels) <= MAX_LABELS:
            raise RequestRefused(f"{len(labels)} labels; 1 to {MAX_LABELS} can be chosen from")
        yield await self._worker.choose(self._pixels.complete(prompt), labels, terms)

    async def prefill(self, prompt: list[Part], terms: Terms) -> AsyncGenerator[Usage, None]:
        """Prepare the beginning of later prompts; a cancelled call drops the work."""
        yield await self._worker.prefill(self._pixels.complete(prompt), terms)

    async def info(self) -> AsyncGenerator[ProcessInfo, None]:
        """What is loaded, without asking the engine thread."""
        worker = self._worker
        yield ProcessInfo(self._description, self._context, self._threads, worker.pending, worker.stats())

    async def watch(self, interval_s: float) -> AsyncGenerator[EngineStats, None]:
        """Heartbeats until the caller leaves."""
        while True:
            yield self._worker.stats()
            await asyncio.sleep(max(interval_s, SHORTEST_INTERVAL_S))

    async def save(self, directory: str) -> AsyncGenerator[int, None]:
        """Kept prefixes to files of an existing, empty directory; how many."""
        yield await self._worker.save(Path(directory))

    def _answer(self, method: str, arguments: list[Any]) -> AsyncGenerator[object, None]:
        try:
            return self._methods[method](*arguments)
        except (KeyError, TypeError) as error:
            raise RequestRefused(f"{method[:40]!r} is no method, or takes other arguments") from error


def to_failure(error: Exception) -> Failure:
    """What the server is told of an error; the rest is for the log."""
    match error:
        case ConstraintRefused():
            return Failure("constraint refused", str(error))
        case RequestRefused():
            return Failure("refused", str(error))
        case PictureUnknown():
            return Failure("pixels missing", str(error))
        case Busy():
            return Failure("overloaded", str(error), max(0.0, error.retry_after_s))
        case TooLate():
            return Failure("too late", str(error))
        case DecodeFailed():
            logger.error("llama.cpp failed: %s", error)
            return Failure("failed", "llama.cpp failed on this request; see the server's log")
    logger.error("unexpected failure", exc_info=error)
    return Failure("failed", "unexpected failure in the generator process; see the server's log")
