"""The gRPC servicer of the generator process: convert, call, convert."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, NoReturn

import grpc
import grpc.aio

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass.internal.v1 import generator_pb2_grpc as pb_grpc
from quizglass_server.engines.llama.constraint import MAX_LABELS
from quizglass_server.engines.llama.errors import DecodeFailed
from quizglass_server.engines.llama.pixels import PictureUnknown, PixelStore
from quizglass_server.engines.llama.prompt import Overloaded, Part, RequestRefused
from quizglass_server.engines.llama.wire import (
    RETRY_AFTER,
    from_constraint,
    from_segments,
    from_terms,
    to_response,
    to_usage,
    to_vitals,
)
from quizglass_server.engines.llama.worker import EngineWorker

Context = grpc.aio.ServicerContext[Any, Any]
SHORTEST_INTERVAL_US = 1_000
logger = logging.getLogger(__name__)


class GeneratorServicer(pb_grpc.GeneratorServiceServicer):
    """`quizglass.internal.v1.GeneratorService` over an engine worker."""

    def __init__(self, worker: EngineWorker, description: str, context: int, threads: int) -> None:
        self._worker = worker
        self._description = description
        self._context = context
        self._threads = threads
        self._pixels = PixelStore()

    async def Generate(self, request: pb.GenerateRequest, context: Context) -> AsyncIterator[pb.GenerateResponse]:
        """Complete a prompt; a cancelled call closes the worker's stream, which stops the engine."""
        try:
            if request.max_tokens == 0:
                raise RequestRefused("max_tokens is 0; at least 1 token must be asked for")
            stream = self._worker.generate(
                self._prompt(request.prompt), request.max_tokens, from_terms(request.terms), from_constraint(request)
            )
            async with aclosing(stream):
                async for items in stream:
                    yield to_response(items)
        except Exception as error:
            await _abort(context, error)

    async def Choose(self, request: pb.ChooseRequest, context: Context) -> pb.ChooseResponse:
        """Probabilities of labels."""
        try:
            if not 0 < len(request.labels) <= MAX_LABELS:
                raise RequestRefused(f"{len(request.labels)} labels; 1 to {MAX_LABELS} can be chosen from")
            prompt, terms = self._prompt(request.prompt), from_terms(request.terms)
            probabilities, usage = await self._worker.choose(prompt, list(request.labels), terms)
            return pb.ChooseResponse(probabilities=probabilities, usage=to_usage(usage))
        except Exception as error:
            await _abort(context, error)

    async def Score(self, request: pb.ScoreRequest, context: Context) -> pb.ScoreResponse:
        """Probabilities of a given answer's tokens."""
        try:
            if not request.answer:
                raise RequestRefused("the answer to score is empty")
            prompt, terms = self._prompt(request.prompt), from_terms(request.terms)
            scored = await self._worker.score(prompt, request.answer, terms)
            return pb.ScoreResponse(log_probabilities=scored.log_probabilities, usage=to_usage(scored.usage))
        except Exception as error:
            await _abort(context, error)

    async def Prefill(self, request: pb.PrefillRequest, context: Context) -> pb.PrefillResponse:
        """Prepare the beginning of later prompts; a cancelled call drops the work."""
        try:
            usage = await self._worker.prefill(self._prompt(request.prompt), from_terms(request.terms))
            return pb.PrefillResponse(usage=to_usage(usage))
        except Exception as error:
            await _abort(context, error)

    async def GetInfo(self, request: pb.GetInfoRequest, context: Context) -> pb.GetInfoResponse:
        """What is loaded, without asking the engine thread."""
        return pb.GetInfoResponse(
            description=self._description,
            context=self._context,
            threads=self._threads,
            pending=self._worker.pending,
            vitals=to_vitals(self._worker.vitals()),
        )

    async def Watch(self, request: pb.WatchRequest, context: Context) -> AsyncIterator[pb.WatchResponse]:
        """Heartbeats until the caller leaves."""
        interval = max(request.interval_us, SHORTEST_INTERVAL_US) / 1e6
        while True:
            yield pb.WatchResponse(vitals=to_vitals(self._worker.vitals()))
            await asyncio.sleep(interval)

    async def Save(self, request: pb.SaveRequest, context: Context) -> pb.SaveResponse:
        """Kept prefixes to files."""
        try:
            return pb.SaveResponse(prefixes=await self._worker.save(Path(request.directory)))
        except Exception as error:
            await _abort(context, error)

    def _prompt(self, segments: Iterable[pb.Segment]) -> list[Part]:
        return self._pixels.complete(from_segments(segments))


async def _abort(context: Context, error: Exception) -> NoReturn:
    """End the call with the status of an error."""
    code = grpc.StatusCode
    match error:
        case RequestRefused():
            await context.abort(code.INVALID_ARGUMENT, str(error))
        case PictureUnknown():
            await context.abort(code.NOT_FOUND, str(error))
        case Overloaded():
            delay = str(max(0, round(error.retry_after_s * 1e6)))
            await context.abort(code.RESOURCE_EXHAUSTED, str(error), ((RETRY_AFTER, delay),))
        case DecodeFailed():
            logger.error("llama.cpp failed: %s", error)
            await context.abort(code.INTERNAL, "llama.cpp failed on this request; see the server's log")
    logger.error("unexpected failure", exc_info=error)
    await context.abort(code.INTERNAL, "unexpected failure in the generator process; see the server's log")
