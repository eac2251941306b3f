"""Typed calls to one generator process, from the server's side.

A client lives as long as its process. When the process is known to be gone, `lose` ends every call on it at once.
Knows nothing of starting or restarting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, Protocol, TypeVar

import grpc
import grpc.aio

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass.internal.v1 import generator_pb2_grpc as pb_grpc
from quizglass_server.engines.llama.prompt import Finished, Part, Piece, Usage
from quizglass_server.engines.llama.wire import MESSAGE_OPTIONS, from_response, from_usage, to_segments
from quizglass_server.errors import EngineFailed, EngineLost, QuizglassError


class PromptRefused(QuizglassError):
    """The generator cannot serve this prompt; the message names the limit. Models turn it into a field's error."""

    code = "PROMPT_REFUSED"


class _Call(Protocol):
    def cancel(self) -> bool: ...


C = TypeVar("C", bound=_Call)


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """What a generator process says of itself."""

    description: str
    context: int
    threads: int
    pending: int
    decode_steps: int
    encoded_pictures: int


class GeneratorClient:
    """Calls over one connection to one process."""

    def __init__(self, address: str, on_lost: Callable[[], None]) -> None:
        """Connect.

        Args:
            address: of the process's socket.
            on_lost: called once, as soon as the process is known to be gone or cannot be reached.
        """
        self._on_lost = on_lost
        self._channel = grpc.aio.insecure_channel(address, options=MESSAGE_OPTIONS)
        self._stub = pb_grpc.GeneratorServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._calls: set[_Call] = set()
        self._lost = False

    async def generate(self, prompt: Sequence[Part], max_tokens: int) -> AsyncGenerator[Piece | Finished, None]:
        """Complete a prompt: pieces as they come, then the end. Closing it stops the engine.

        Raises:
            PromptRefused: the prompt does not fit the model.
            EngineLost: the process died.
            EngineFailed: llama.cpp failed on this request.
        """
        request = pb.GenerateRequest(prompt=to_segments(prompt), max_tokens=max_tokens)
        with self._guarded(self._stub.Generate(request)) as call:
            async for response in call:
                for item in from_response(response):
                    yield item

    async def choose(self, prompt: Sequence[Part], labels: Sequence[str]) -> tuple[list[float], Usage]:
        """Probability of each label as the next token, normalised over the labels; errors as `generate`."""
        request = pb.ChooseRequest(prompt=to_segments(prompt), labels=labels)
        with self._guarded(self._stub.Choose(request)) as call:
            response = await call
        return list(response.probabilities), from_usage(response.usage)

    async def info(self) -> ProcessInfo:
        """What is loaded and how busy it is; errors as `generate`."""
        with self._guarded(self._stub.GetInfo(pb.GetInfoRequest())) as call:
            info = await call
        return ProcessInfo(
            info.description, info.context, info.threads, info.pending, info.decode_steps, info.encoded_pictures
        )

    def lose(self) -> None:
        """The process is gone: end every call with EngineLost."""
        if self._lost:
            return
        self._lost = True
        for call in tuple(self._calls):
            call.cancel()
        self._on_lost()

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()

    @contextmanager
    def _guarded(self, call: C) -> Iterator[C]:
        """Track a call, cancel it when its user leaves, and turn its errors into the server's own."""
        self._calls.add(call)
        try:
            yield call
        except grpc.aio.AioRpcError as error:
            self._raise(error)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._lost and (task is None or not task.cancelling()):
                raise _gone() from None
            raise
        finally:
            call.cancel()
            self._calls.discard(call)

    def _raise(self, error: grpc.aio.AioRpcError) -> NoReturn:
        status, message = error.code(), error.details() or ""
        if status is grpc.StatusCode.INVALID_ARGUMENT:
            raise PromptRefused(message) from None
        if self._lost or status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
            self.lose()
            raise _gone() from None
        raise EngineFailed(f"the generator failed: {message}") from error


def _gone() -> EngineLost:
    return EngineLost("the generator process died; it is being restarted, ask again")
