"""The worker's coming calls on the engine that serves one request at a time. Goes when the worker has them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from time import monotonic

from quizglass_server.engines.llama.engine import RequestRefused as EngineRefused
from quizglass_server.engines.llama.prompt import (
    Constraint,
    Finished,
    Part,
    Piece,
    RequestRefused,
    Scored,
    Terms,
    Usage,
    Vitals,
)
from quizglass_server.engines.llama.worker import EngineWorker


class InterimWorker(EngineWorker):
    """Terms and constraints are not looked at."""

    async def generate(  # type: ignore[override]
        self, prompt: Sequence[Part], max_tokens: int, terms: Terms, constraint: Constraint | None = None
    ) -> AsyncGenerator[list[Piece | Finished], None]:
        """As the engine does."""
        with _refusals():
            async with aclosing(super().generate(prompt, max_tokens)) as stream:
                async for items in stream:
                    yield items

    async def choose(  # type: ignore[override]
        self, prompt: Sequence[Part], labels: Sequence[str], terms: Terms
    ) -> tuple[list[float], Usage]:
        """As the engine does."""
        with _refusals():
            return await super().choose(prompt, labels)

    async def score(self, prompt: Sequence[Part], answer: str, terms: Terms) -> Scored:
        """Refused."""
        raise RequestRefused("this engine does not score answers")

    async def prefill(self, prompt: Sequence[Part], terms: Terms) -> Usage:
        """Refused."""
        raise RequestRefused("this engine does not prepare prompts")

    async def save(self, directory: Path) -> int:
        """Nothing."""
        return 0

    async def restore(self, directory: Path) -> int:
        """Nothing."""
        return 0

    def vitals(self) -> Vitals:
        """Counters alone; always lively."""
        engine = self.engine
        return Vitals(monotonic(), decode_steps=engine.decode_steps, encoded_pictures=engine.encoded_pictures)


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except EngineRefused as error:
        raise RequestRefused(str(error)) from None
