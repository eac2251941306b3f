"""What every contender does: complete a prompt and say when each token came."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

PATIENCE_S = 240.0
"""No completion may take longer; one that does ends its section with an error."""
SYSTEM = "You are a helpful assistant."
"""llama-cpp-python's handler puts this before every question about a picture, so all contenders get it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. With a picture it is a chat message: the picture, then the text."""

    text: str
    tokens: int
    picture: bytes | None = None
    """PNG of the model's size."""


@dataclass(slots=True)
class Timed:
    """One completion as its client saw it, in `perf_counter` seconds."""

    sent: float = field(default_factory=perf_counter)
    times: list[float] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    ended: float = 0.0

    def add(self, text: str) -> None:
        """A token arrived."""
        self.times.append(perf_counter())
        self.pieces.append(text)

    @property
    def first(self) -> float:
        """Seconds to the first token; NaN if none came."""
        return self.times[0] - self.sent if self.times else math.nan

    @property
    def text(self) -> str:
        """Everything that came."""
        return "".join(self.pieces)


class Contender(Protocol):
    """A running engine with a model."""

    @property
    def name(self) -> str:
        """As the tables call it."""
        ...

    async def complete(self, ask: Ask, timed: Timed) -> None:
        """Complete greedily and fill in `timed` as tokens come."""
        ...

    async def close(self) -> None:
        """End its process."""
        ...


async def complete(contender: Contender, ask: Ask) -> Timed:
    """One completion.

    Raises:
        TimeoutError: it took longer than `PATIENCE_S`.
    """
    timed = Timed()
    async with asyncio.timeout(PATIENCE_S):
        await contender.complete(ask, timed)
    timed.ended = perf_counter()
    return timed


async def together(contender: Contender, asks: Sequence[Ask]) -> list[Timed]:
    """Several completions that arrive at once."""
    return await asyncio.gather(*(complete(contender, ask) for ask in asks))


async def in_turn(contenders: Sequence[Contender], round_: int, work: Callable[[Contender], Awaitable[object]]) -> None:
    """Let every contender work, none beside another; each round another one begins."""
    for index in range(len(contenders)):
        await work(contenders[(index + round_) % len(contenders)])


def wall(timed: Sequence[Timed]) -> float:
    """Seconds from the first sending to the last end."""
    return max(each.ended for each in timed) - min(each.sent for each in timed)


def tokens(timed: Sequence[Timed]) -> int:
    """How many came in all."""
    return sum(len(each.times) for each in timed)
