"""Typed calls to one generator process, from the server's side.

A client lives as long as its process. When the process is known to be gone, `lose` ends every call on it at once.
Knows nothing of starting or restarting.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NoReturn, TypeVar

from google.protobuf.message import Message

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass_server.engines.llama.link import wire
from quizglass_server.engines.llama.link.frames import Call, CallFailed, Link, LinkLost
from quizglass_server.engines.llama.link.pixels import Sent
from quizglass_server.engines.llama.link.prompt import Constraint, Finished, Part, Piece, Scored, Terms, Usage, Vitals
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, Overloaded, QuizglassError

SLACK_S = 1.0
"""Beyond its deadline a call waits so long for the process to say itself that the time is over."""
TURN = Terms()


class PromptRefused(QuizglassError):
    """The generator cannot serve this prompt; the message names the limit. Models turn it into a field's error."""

    code = "PROMPT_REFUSED"


class _PixelsMissing(Exception):
    """The process does not hold a picture that was sent without its pixels."""


R = TypeVar("R", bound=Message)


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

    def __init__(self, on_lost: Callable[[], None]) -> None:
        """Make it; `connect` connects it.

        Args:
            on_lost: called once, as soon as the process is known to be gone or cannot be reached.
        """
        self._on_lost = on_lost
        self._link = Link(self.lose)
        self._sent = Sent()
        self._lost = False

    async def connect(self, link: socket.socket) -> None:
        """Take over the connection to the process.

        Raises:
            OSError: it cannot be used.
        """
        await asyncio.get_running_loop().create_unix_connection(lambda: self._link, sock=link)

    async def generate(
        self, prompt: Sequence[Part], max_tokens: int, terms: Terms = TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[Piece | Finished, None]:
        """Complete a prompt: pieces as they come, then the end. Closing it stops the engine.

        Raises:
            PromptRefused: the prompt does not fit the model, or the constraint cannot be used.
            Overloaded: no room, or the deadline cannot be met because of other requests.
            BudgetExceeded: the deadline cannot be met in any case, or passed and the process said nothing.
            EngineLost: the process died or hangs.
            EngineFailed: llama.cpp failed on this request.
        """
        allowed = wire.to_constraint(constraint)
        while True:
            request = pb.GenerateRequest(
                prompt=self._segments(prompt), max_tokens=max_tokens, terms=wire.to_terms(terms), constraint=allowed
            )
            try:
                with self._called("Generate", request, terms) as call:
                    async for payload in call:
                        self._sent.add(prompt)
                        for item in wire.from_response(pb.GenerateResponse.FromString(payload)):
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
            return self._only("Choose", request, pb.ChooseResponse, terms)

        response = await self._with_pixels(prompt, ask)
        return list(response.probabilities), wire.from_usage(response.usage)

    async def score(self, prompt: Sequence[Part], answer: str, terms: Terms = TURN) -> Scored:
        """Log-probabilities of a given answer's tokens; errors as `generate`."""

        def ask() -> Awaitable[pb.ScoreResponse]:
            request = pb.ScoreRequest(prompt=self._segments(prompt), answer=answer, terms=wire.to_terms(terms))
            return self._only("Score", request, pb.ScoreResponse, terms)

        response = await self._with_pixels(prompt, ask)
        return Scored(tuple(response.log_probabilities), wire.from_usage(response.usage))

    async def prefill(self, prompt: Sequence[Part], terms: Terms) -> Usage:
        """Prepare the beginning of later prompts; cancelling drops it. Errors as `generate`."""

        def ask() -> Awaitable[pb.PrefillResponse]:
            request = pb.PrefillRequest(prompt=self._segments(prompt), terms=wire.to_terms(terms))
            return self._only("Prefill", request, pb.PrefillResponse, terms)

        return wire.from_usage((await self._with_pixels(prompt, ask)).usage)

    async def info(self) -> ProcessInfo:
        """What is loaded and how busy it is; errors as `generate`."""
        info = await self._only("GetInfo", pb.GetInfoRequest(), pb.GetInfoResponse)
        vitals = wire.from_vitals(info.vitals)
        return ProcessInfo(info.description, info.context, info.threads, info.pending, vitals)

    async def watch(self, interval_s: float) -> AsyncGenerator[Vitals, None]:
        """Heartbeats until it is closed; errors as `generate`."""
        with self._called("Watch", pb.WatchRequest(interval_us=round(interval_s * 1e6)), TURN) as call:
            async for payload in call:
                yield wire.from_vitals(pb.WatchResponse.FromString(payload).vitals)

    async def save(self, directory: Path) -> int:
        """Write kept prefixes to an existing, empty directory: how many; errors as `generate`."""
        response = await self._only("Save", pb.SaveRequest(directory=str(directory)), pb.SaveResponse)
        return int(response.prefixes)

    def lose(self) -> None:
        """The process is gone: end every call with EngineLost, and the connection."""
        if self._lost:
            return
        self._lost = True
        self._link.lose()
        self._on_lost()

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

    async def _only(self, method: str, request: Message, kind: type[R], terms: Terms = TURN) -> R:
        """A call with one response."""
        with self._called(method, request, terms) as call:
            return kind.FromString(await anext(call))

    @contextmanager
    def _called(self, method: str, request: Message, terms: Terms) -> Iterator[Call]:
        """A call, cancelled when its user leaves, with the server's own errors."""
        call = self._link.call(method, request)
        timer = None
        if terms.deadline is not None:
            late = BudgetExceeded("the time ran out before the generator answered")
            left = max(0.0, terms.deadline - monotonic()) + SLACK_S
            timer = asyncio.get_running_loop().call_later(left, call.fail, late)
        try:
            yield call
        except CallFailed as error:
            _raise(pb.Failure.FromString(error.failure))
        except LinkLost:
            raise EngineLost("the generator process died; it is being restarted, ask again") from None
        finally:
            call.cancel()
            if timer is not None:
                timer.cancel()


def _raise(failure: pb.Failure) -> NoReturn:
    match failure.reason:
        case pb.FAILURE_REASON_REFUSED:
            raise PromptRefused(failure.message) from None
        case pb.FAILURE_REASON_PIXELS_MISSING:
            raise _PixelsMissing from None
        case pb.FAILURE_REASON_OVERLOADED:
            raise Overloaded(f"the generator is busy: {failure.message}", failure.retry_after_us / 1e6) from None
        case pb.FAILURE_REASON_TOO_LATE:
            raise BudgetExceeded(f"the time does not suffice for the generator: {failure.message}") from None
    raise EngineFailed(f"the generator failed: {failure.message}")
