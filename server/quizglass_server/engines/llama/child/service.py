"""The methods of the generator process: convert, call, convert."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError, Message

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.engine.constraint import MAX_LABELS
from quizglass_server.engines.llama.link.frames import Answering
from quizglass_server.engines.llama.link.pixels import PictureUnknown, PixelStore
from quizglass_server.engines.llama.link.prompt import Overloaded, Part, RequestRefused, TooLate
from quizglass_server.engines.llama.link.wire import (
    from_constraint,
    from_segments,
    from_terms,
    to_response,
    to_usage,
    to_vitals,
)
from quizglass_server.engines.llama.native.errors import DecodeFailed

SHORTEST_INTERVAL_US = 1_000
_Method = Callable[[Any], AsyncGenerator[Message, None]]
"""Takes its own kind of request."""
logger = logging.getLogger(__name__)


class GeneratorService:
    """`quizglass.internal.v1.GeneratorService` over an engine worker."""

    def __init__(self, worker: EngineWorker, description: str, context: int, threads: int) -> None:
        self._worker = worker
        self._description = description
        self._context = context
        self._threads = threads
        self._pixels = PixelStore()
        self._methods: dict[str, tuple[type[Message], _Method]] = {
            "Generate": (pb.GenerateRequest, self.generate),
            "Choose": (pb.ChooseRequest, self.choose),
            "Score": (pb.ScoreRequest, self.score),
            "Prefill": (pb.PrefillRequest, self.prefill),
            "GetInfo": (pb.GetInfoRequest, self.info),
            "Watch": (pb.WatchRequest, self.watch),
            "Save": (pb.SaveRequest, self.save),
        }

    def connection(self) -> Answering:
        """The server's end of a new connection."""
        return Answering(self._answer, to_failure)

    async def generate(self, request: pb.GenerateRequest) -> AsyncGenerator[Message, None]:
        """Complete a prompt; a cancelled call closes the worker's stream, which stops the engine."""
        if request.max_tokens == 0:
            raise RequestRefused("max_tokens is 0; at least 1 token must be asked for")
        stream = self._worker.generate(
            self._prompt(request.prompt), request.max_tokens, from_terms(request.terms), from_constraint(request)
        )
        async with aclosing(stream):
            async for items in stream:
                yield to_response(items)

    async def choose(self, request: pb.ChooseRequest) -> AsyncGenerator[Message, None]:
        """Probabilities of labels."""
        if not 0 < len(request.labels) <= MAX_LABELS:
            raise RequestRefused(f"{len(request.labels)} labels; 1 to {MAX_LABELS} can be chosen from")
        prompt, terms = self._prompt(request.prompt), from_terms(request.terms)
        probabilities, usage = await self._worker.choose(prompt, list(request.labels), terms)
        yield pb.ChooseResponse(probabilities=probabilities, usage=to_usage(usage))

    async def score(self, request: pb.ScoreRequest) -> AsyncGenerator[Message, None]:
        """Probabilities of a given answer's tokens."""
        if not request.answer:
            raise RequestRefused("the answer to score is empty")
        scored = await self._worker.score(self._prompt(request.prompt), request.answer, from_terms(request.terms))
        yield pb.ScoreResponse(log_probabilities=scored.log_probabilities, usage=to_usage(scored.usage))

    async def prefill(self, request: pb.PrefillRequest) -> AsyncGenerator[Message, None]:
        """Prepare the beginning of later prompts; a cancelled call drops the work."""
        usage = await self._worker.prefill(self._prompt(request.prompt), from_terms(request.terms))
        yield pb.PrefillResponse(usage=to_usage(usage))

    async def info(self, request: pb.GetInfoRequest) -> AsyncGenerator[Message, None]:
        """What is loaded, without asking the engine thread."""
        yield pb.GetInfoResponse(
            description=self._description,
            context=self._context,
            threads=self._threads,
            pending=self._worker.pending,
            vitals=to_vitals(self._worker.vitals()),
        )

    async def watch(self, request: pb.WatchRequest) -> AsyncGenerator[Message, None]:
        """Heartbeats until the caller leaves."""
        interval = max(request.interval_us, SHORTEST_INTERVAL_US) / 1e6
        while True:
            yield pb.WatchResponse(vitals=to_vitals(self._worker.vitals()))
            await asyncio.sleep(interval)

    async def save(self, request: pb.SaveRequest) -> AsyncGenerator[Message, None]:
        """Kept prefixes to files."""
        yield pb.SaveResponse(prefixes=await self._worker.save(Path(request.directory)))

    def _answer(self, method: str, request: bytes) -> AsyncGenerator[Message, None]:
        try:
            kind, answer = self._methods[method]
            return answer(kind.FromString(request))
        except (KeyError, DecodeError) as error:
            raise RequestRefused(f"{method[:40]!r} is no method, or its request is none") from error

    def _prompt(self, segments: Iterable[pb.Segment]) -> list[Part]:
        return self._pixels.complete(from_segments(segments))


def to_failure(error: Exception) -> pb.Failure:
    """What the server is told of an error; the rest is for the log."""
    match error:
        case RequestRefused():
            return pb.Failure(reason=pb.FAILURE_REASON_REFUSED, message=str(error))
        case PictureUnknown():
            return pb.Failure(reason=pb.FAILURE_REASON_PIXELS_MISSING, message=str(error))
        case Overloaded():
            delay_us = max(0, round(error.retry_after_s * 1e6))
            return pb.Failure(reason=pb.FAILURE_REASON_OVERLOADED, message=str(error), retry_after_us=delay_us)
        case TooLate():
            return pb.Failure(reason=pb.FAILURE_REASON_TOO_LATE, message=str(error))
        case DecodeFailed():
            logger.error("llama.cpp failed: %s", error)
            message = "llama.cpp failed on this request; see the server's log"
        case _:
            logger.error("unexpected failure", exc_info=error)
            message = "unexpected failure in the generator process; see the server's log"
    return pb.Failure(reason=pb.FAILURE_REASON_FAILED, message=message)
