"""Typed calls to one generator process, from the server's side.

A client lives as long as its process. When the process is known to be gone, `lose` ends every call on it at once.
Knows nothing of starting or restarting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NoReturn, Protocol, TypeVar

import grpc
import grpc.aio

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass.internal.v1 import generator_pb2_grpc as pb_grpc
from quizglass_server.engines.llama import wire
from quizglass_server.engines.llama.pixels import Sent
from quizglass_server.engines.llama.prompt import Constraint, Finished, Part, Piece, Scored, Terms, Usage, Vitals
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, Overloaded, QuizglassError

SLACK_S = 1.0
"""Beyond its deadline a call waits so long for the process to say itself that the time is over."""
TURN = Terms()


class PromptRefused(QuizglassError):
    """The generator cannot serve this prompt; the message names the limit. Models turn it into a field's error."""

    code = "PROMPT_REFUSED"


class _PixelsMissing(Exception):
    """The process does not hold a picture that was sent without its pixels."""


class _Call(Protocol):
    def cancel(self) -> bool: ...


C = TypeVar("C", bound=_Call)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """What a generator process says of itself."""

    description: str
    context: int
    threads: int
    pending: int
    vitals: Vitals


class GeneratorClient:
    """Calls over one connection to one process."""

    def __init__(self, address: str, on_lost: Callable[[], None]) -> None:
        """Connect.

        Args:
            address: of the process's socket.
            on_lost: called once, as soon as the process is known to be gone or cannot be reached.
        """
        self._on_lost = on_lost
        self._channel = grpc.aio.insecure_channel(address, options=wire.MESSAGE_OPTIONS)
        self._stub = pb_grpc.GeneratorServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self._sent = Sent()
        self._calls: set[_Call] = set()
        self._lost = False

    async def generate(
        self, prompt: Sequence[Part], max_tokens: int, terms: Terms = TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[Piece | Finished, None]:
        """Complete a prompt: pieces as they come, then the end. Closing it stops the engine.

        Raises:
            PromptRefused: the prompt does not fit the model, or the constraint cannot be used.
            Overloaded: no room, or the deadline cannot be met.
            BudgetExceeded: the deadline passed and the process said nothing.
            EngineLost: the process died or hangs.
            EngineFailed: llama.cpp failed on this request.
        """
        allowed = wire.to_constraint(constraint)
        while True:
            request = pb.GenerateRequest(
                prompt=self._segments(prompt), max_tokens=max_tokens, terms=wire.to_terms(terms), constraint=allowed
            )
            try:
                with self._guarded(self._stub.Generate(request, timeout=_timeout(terms))) as call:
                    async for response in call:
                        self._sent.add(prompt)
                        for item in wire.from_response(response):
                            yield item
                return
            except _PixelsMissing:
                self._sent.clear()

    async def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], terms: Terms = TURN
    ) -> tuple[list[float], Usage]:
        """Probability of each label as the continuation, normalised over the labels; errors as `generate`."""

        def ask() -> Awaitable[pb.ChooseResponse]:
            request = pb.ChooseRequest(prompt=self._segments(prompt), labels=labels, terms=wire.to_terms(terms))
            return self._finished(self._stub.Choose(request, timeout=_timeout(terms)))

        response = await self._with_pixels(prompt, ask)
        return list(response.probabilities), wire.from_usage(response.usage)

    async def score(self, prompt: Sequence[Part], answer: str, terms: Terms = TURN) -> Scored:
        """Log-probabilities of a given answer's tokens; errors as `generate`."""

        def ask() -> Awaitable[pb.ScoreResponse]:
            request = pb.ScoreRequest(prompt=self._segments(prompt), answer=answer, terms=wire.to_terms(terms))
            return self._finished(self._stub.Score(request, timeout=_timeout(terms)))

        response = await self._with_pixels(prompt, ask)
        return Scored(tuple(response.log_probabilities), wire.from_usage(response.usage))

    async def prefill(self, prompt: Sequence[Part], terms: Terms) -> Usage:
        """Prepare the beginning of later prompts; cancelling drops it. Errors as `generate`."""

        def ask() -> Awaitable[pb.PrefillResponse]:
            request = pb.PrefillRequest(prompt=self._segments(prompt), terms=wire.to_terms(terms))
            return self._finished(self._stub.Prefill(request, timeout=_timeout(terms)))

        return wire.from_usage((await self._with_pixels(prompt, ask)).usage)

    async def info(self) -> ProcessInfo:
        """What is loaded and how busy it is; errors as `generate`."""
        info = await self._finished(self._stub.GetInfo(pb.GetInfoRequest()))
        vitals = wire.from_vitals(info.vitals)
        return ProcessInfo(info.description, info.context, info.threads, info.pending, vitals)

    async def watch(self, interval_s: float) -> AsyncGenerator[Vitals, None]:
        """Heartbeats until it is closed; errors as `generate`."""
        with self._guarded(self._stub.Watch(pb.WatchRequest(interval_us=round(interval_s * 1e6)))) as call:
            async for response in call:
                yield wire.from_vitals(response.vitals)

    async def save(self, directory: Path) -> int:
        """Write kept prefixes to an existing, empty directory: how many; errors as `generate`."""
        response = await self._finished(self._stub.Save(pb.SaveRequest(directory=str(directory))))
        return int(response.prefixes)

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

    def _segments(self, prompt: Sequence[Part]) -> list[pb.Segment]:
        return wire.to_segments(prompt, self._sent.holds)

    async def _with_pixels(self, prompt: Sequence[Part], ask: Callable[[], Awaitable[R]]) -> R:
        """Ask without the pixels that the process should hold, and again with them where it does not."""
        try:
            response = await ask()
        except _PixelsMissing:
            self._sent.clear()
            response = await ask()
        self._sent.add(prompt)
        return response

    async def _finished(self, call: grpc.aio.UnaryUnaryCall[object, R]) -> R:
        with self._guarded(call):
            return await call

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
        code, status, message = grpc.StatusCode, error.code(), error.details() or ""
        if status is code.INVALID_ARGUMENT:
            raise PromptRefused(message) from None
        if status is code.NOT_FOUND:
            raise _PixelsMissing from None
        if status is code.RESOURCE_EXHAUSTED and (delay := _retry_after(error)) is not None:
            raise Overloaded(f"the generator is busy: {message}", delay) from None
        if self._lost or status in (code.UNAVAILABLE, code.CANCELLED):
            self.lose()
            raise _gone() from None
        if status is code.DEADLINE_EXCEEDED:
            raise BudgetExceeded("the time ran out before the generator answered") from None
        raise EngineFailed(f"the generator failed: {message}") from error


def _timeout(terms: Terms) -> float | None:
    """Of a call, seconds: a little more than its terms leave, since the process itself ends it in time."""
    return None if terms.deadline is None else max(0.0, terms.deadline - monotonic()) + SLACK_S


def _retry_after(error: grpc.aio.AioRpcError) -> float | None:
    """Seconds, where the process has said so; gRPC itself also gives this status, to messages that are too large."""
    for key, value in error.trailing_metadata():
        if key == wire.RETRY_AFTER:
            return int(value) / 1e6
    return None


def _gone() -> EngineLost:
    return EngineLost("the generator process died; it is being restarted, ask again")
