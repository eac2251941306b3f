"""Typed calls to one generator process, from the server's side.

A client lives as long as its process. When the process is known to be gone, `lose` ends every call on it at once.
Knows nothing of starting or restarting.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from quizglass_server.engines.llama.link.frames import Call, CallFailed, FrameTooLarge, Link, LinkLost
from quizglass_server.engines.llama.link.pixels import Sent
from quizglass_server.engines.llama.link.prompt import (
    TURN,
    Constraint,
    EngineStats,
    Failure,
    Finished,
    Part,
    PicturePart,
    Piece,
    Urgency,
    Usage,
)
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, Overloaded, QuizglassError
from quizglass_server.scheduling.ledger import handed

SLACK_S = 1.0
"""How long beyond its deadline a call waits for the process to say itself that the time is over."""


class PromptRefused(QuizglassError):
    """The generator cannot serve this prompt; the message names the limit. Models turn it into a field's error."""

    code = "PROMPT_REFUSED"


class ConstraintUnusable(QuizglassError):
    """The generator cannot keep to what the answer must look like; the message says why."""

    code = "CONSTRAINT_REFUSED"


class _PixelsMissing(Exception):
    """The process does not hold a picture that was sent without its pixels."""


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
        self, prompt: Sequence[Part], max_tokens: int, urgency: Urgency = TURN, constraint: Constraint | None = None
    ) -> AsyncGenerator[Piece | Finished, None]:
        """Complete a prompt: pieces as they come, then the end. Closing it stops the engine.

        Raises:
            PromptRefused: the prompt does not fit the model.
            ConstraintUnusable: the constraint cannot be used.
            Overloaded: no room, or the deadline cannot be met because of other requests.
            BudgetExceeded: the deadline cannot be met in any case, or passed and the process said nothing.
            EngineLost: the process died or hangs.
            EngineFailed: llama.cpp failed on this request.
        """
        sent = self._sent.without_known(prompt)
        while True:
            handed("generator", sum(map(_size, sent)))
            try:
                with self._called(urgency, "generate", sent, max_tokens, urgency, constraint) as call:
                    async for items in call:
                        ended = isinstance(items[-1], Finished)
                        if ended:
                            call.leave()
                        for item in items:
                            yield item
                        if ended:
                            return
                return
            except _PixelsMissing:
                self._sent.clear()
                sent = list(prompt)

    async def choose(
        self, prompt: Sequence[Part], labels: Sequence[str], urgency: Urgency = TURN
    ) -> tuple[list[float], Usage]:
        """Probability of each label as the continuation, normalised over the labels; errors as `generate`."""
        probabilities, usage = await self._with_pixels(urgency, "choose", prompt, list(labels), urgency)
        return probabilities, usage

    async def prefill(self, prompt: Sequence[Part], urgency: Urgency) -> Usage:
        """Prepare the beginning of later prompts; cancelling drops it. Errors as `generate`."""
        usage: Usage = await self._with_pixels(urgency, "prefill", prompt, urgency)
        return usage

    async def watch(self, interval_s: float) -> AsyncGenerator[EngineStats, None]:
        """Heartbeats until it is closed; errors as `generate`."""
        with self._called(TURN, "watch", interval_s) as call:
            async for stats in call:
                yield stats

    async def stats(self) -> EngineStats:
        """How busy it is now; errors as `generate`."""
        async with aclosing(self.watch(0.0)) as heartbeats:
            return await anext(heartbeats)

    async def forget(self) -> int:
        """Have it keep nothing of prompts and pictures so far: how many prefixes went; errors as `generate`."""
        self._sent.clear()
        return int(await self._only(TURN, "forget"))

    async def save(self, directory: Path) -> int:
        """Write kept prefixes to an existing, empty directory: how many; errors as `generate`."""
        return int(await self._only(TURN, "save", str(directory)))

    def lose(self) -> None:
        """The process is gone: end every call with EngineLost, and the connection."""
        if self._lost:
            return
        self._lost = True
        self._link.lose()
        self._on_lost()

    async def _with_pixels(self, urgency: Urgency, method: str, prompt: Sequence[Part], *arguments: object) -> Any:
        """Ask without the pixels that the process should hold, and again with them where it does not."""
        sent = self._sent.without_known(prompt)
        handed("generator", sum(map(_size, sent)))
        try:
            return await self._only(urgency, method, sent, *arguments)
        except _PixelsMissing:
            self._sent.clear()
            handed("generator", sum(map(_size, prompt)))
            return await self._only(urgency, method, list(prompt), *arguments)

    async def _only(self, urgency: Urgency, method: str, *arguments: object) -> Any:
        """A call with one response."""
        with self._called(urgency, method, *arguments) as call:
            response = await anext(call)
            call.leave()
            return response

    @contextmanager
    def _called(self, urgency: Urgency, method: str, *arguments: object) -> Iterator[Call]:
        """A call, cancelled when its user leaves, with the server's own errors."""
        try:
            call = self._link.call(method, *arguments)
        except FrameTooLarge as error:
            raise PromptRefused(f"its texts and pictures are {error}") from None
        timer = None
        if urgency.deadline is not None:
            late = BudgetExceeded("the time ran out before the generator answered")
            left = max(0.0, urgency.deadline - monotonic()) + SLACK_S
            timer = asyncio.get_running_loop().call_later(left, call.fail, late)
        try:
            yield call
        except CallFailed as error:
            _raise(error.failure)
        except LinkLost:
            raise EngineLost("the generator process died; it is being restarted, ask again") from None
        finally:
            call.cancel()
            if timer is not None:
                timer.cancel()


def _size(part: Part) -> int:
    """Bytes of a part of a prompt, as it is sent: the pixels of a picture that the process holds are not."""
    return len(part.rgb) if isinstance(part, PicturePart) else len(part.text.encode(errors="surrogatepass"))


def _raise(failure: Failure) -> NoReturn:
    match failure.reason:
        case "refused":
            raise PromptRefused(failure.message) from None
        case "constraint refused":
            raise ConstraintUnusable(failure.message) from None
        case "pixels missing":
            raise _PixelsMissing from None
        case "overloaded":
            raise Overloaded(f"the generator is busy: {failure.message}", failure.retry_after_s) from None
        case "too late":
            raise BudgetExceeded(f"the time does not suffice for the generator: {failure.message}") from None
    raise EngineFailed(f"the generator failed: {failure.message}")
