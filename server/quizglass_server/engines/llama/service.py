"""The gRPC servicer of the generator process: convert, call, convert."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, NoReturn

import grpc
import grpc.aio

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass.internal.v1 import generator_pb2_grpc as pb_grpc
from quizglass_server.engines.llama.engine import MAX_LABELS
from quizglass_server.engines.llama.native import DecodeFailed
from quizglass_server.engines.llama.prompt import RequestRefused
from quizglass_server.engines.llama.wire import from_segments, to_response, to_usage
from quizglass_server.engines.llama.worker import EngineWorker

Context = grpc.aio.ServicerContext[Any, Any]
logger = logging.getLogger(__name__)


class GeneratorServicer(pb_grpc.GeneratorServiceServicer):
    """`quizglass.internal.v1.GeneratorService` over an engine worker."""

    def __init__(self, worker: EngineWorker, description: str, context: int, threads: int) -> None:
        self._worker = worker
        self._description = description
        self._context = context
        self._threads = threads

    async def Generate(self, request: pb.GenerateRequest, context: Context) -> AsyncIterator[pb.GenerateResponse]:
        """Complete a prompt; a cancelled call closes the worker's stream, which stops the engine."""
        try:
            if request.max_tokens == 0:
                raise RequestRefused("max_tokens is 0; at least 1 token must be asked for")
            stream = self._worker.generate(from_segments(request.prompt), request.max_tokens)
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
            probabilities, usage = await self._worker.choose(from_segments(request.prompt), list(request.labels))
            return pb.ChooseResponse(probabilities=probabilities, usage=to_usage(usage))
        except Exception as error:
            await _abort(context, error)

    async def GetInfo(self, request: pb.GetInfoRequest, context: Context) -> pb.GetInfoResponse:
        """What is loaded, without asking the engine thread."""
        engine = self._worker.engine
        return pb.GetInfoResponse(
            description=self._description,
            context=self._context,
            threads=self._threads,
            pending=self._worker.pending,
            decode_steps=engine.decode_steps,
            encoded_pictures=engine.encoded_pictures,
        )


async def _abort(context: Context, error: Exception) -> NoReturn:
    """End the call with the status of an error."""
    if isinstance(error, RequestRefused):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    if isinstance(error, DecodeFailed):
        logger.error("llama.cpp failed: %s", error)
        await context.abort(grpc.StatusCode.INTERNAL, "llama.cpp failed on this request; see the server's log")
    logger.error("unexpected failure", exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, "unexpected failure in the generator process; see the server's log")
