"""The methods of the generator process: convert, call, convert."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path
from typing import Any

from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.link.frames import Answering
from quizglass_server.engines.llama.link.pixels import PictureUnknown, PixelStore
from quizglass_server.engines.llama.link.prompt import (
    Busy,
    ConstraintRefused,
    EngineStats,
    Failure,
    RequestRefused,
    TooLate,
)
from quizglass_server.engines.llama.native.errors import DecodeFailed

SHORTEST_INTERVAL_S = 0.001
logger = logging.getLogger(__name__)


class GeneratorService:
    """The calls that a generator process answers, over an engine worker."""

    def __init__(self, worker: EngineWorker) -> None:
        self._worker = worker
        self._pixels = PixelStore()

    def connection(self) -> Answering:
        """The server's end of a new connection."""
        return Answering(self._answer, to_failure)

    def _answer(self, method: str, arguments: list[Any]) -> AsyncGenerator[object, None]:
        """What a call gives; a cancelled one stops the engine's work for it."""
        worker, whole = self._worker, self._pixels.complete
        match method, arguments:
            case "generate", [_, 0, _, _]:
                raise RequestRefused("max_tokens is 0; at least 1 token must be asked for")
            case "choose", [_, [], _]:
                raise RequestRefused("0 labels; there must be some to choose from")
            case "generate", [prompt, max_tokens, urgency, constraint]:
                return worker.generate(whole(prompt), max_tokens, urgency, constraint)
            case "choose", [prompt, labels, urgency]:
                return _only(worker.choose(whole(prompt), labels, urgency))
            case "prefill", [prompt, urgency]:
                return _only(worker.prefill(whole(prompt), urgency))
            case "watch", [interval_s]:
                return self._heartbeats(interval_s)
            case "forget", []:
                self._pixels.clear()
                return _only(worker.forget())
            case "save", [directory]:
                return _only(worker.files.save(Path(directory)))
        raise RequestRefused(f"{method[:40]!r} is no method, or takes other arguments")

    async def _heartbeats(self, interval_s: float) -> AsyncGenerator[EngineStats, None]:
        """How the engine is, without asking its thread, until the caller leaves."""
        while True:
            yield self._worker.engine.stats()
            await asyncio.sleep(max(interval_s, SHORTEST_INTERVAL_S))


async def _only(result: Awaitable[object]) -> AsyncGenerator[object, None]:
    """The one response of a call that has no more."""
    yield await result


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
