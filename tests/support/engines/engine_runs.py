"""Runs requests through the generator's engine in the test's own thread, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TypeVar

import numpy as np

from quizglass_server.engines.llama.costs.cost_model import Costs
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.link.prompt import Finished, Part, PicturePart, Piece, TextPart

T = TypeVar("T")
SMALL_PIECES = Costs((1000,) * 8, ((16, 20_000), (512, 10**9)))
"""Prompts in pieces of 16 tokens, up to eight answers together."""


class Given:
    """Gathers what a request gives."""

    def __init__(self) -> None:
        self.items: list[object] = []

    def put(self, item: object, *, urgent: bool) -> None:
        self.items.append(item)

    @property
    def pieces(self) -> list[Piece]:
        return [item for item in self.items if isinstance(item, Piece)]

    @property
    def texts(self) -> list[str]:
        return [piece.text for piece in self.pieces]

    @property
    def finished(self) -> Finished:
        return self.only(Finished)

    def only(self, kind: type[T]) -> T:
        """The last thing given; raises it if it is an exception."""
        last = self.items[-1]
        if isinstance(last, BaseException):
            raise last
        assert isinstance(last, kind)
        return last


def never() -> bool:
    """A request that nobody cancels."""
    return False


def drive(engine: Engine, request: Request, cancelled: Callable[[], bool] = never) -> None:
    """Run a request to its end; `cancelled` is asked after each step."""
    engine.submit(request)
    while not request.ended:
        engine.step()
        if not request.ended and cancelled():
            engine.cancel(request)


def finish(engine: Engine) -> None:
    """Run everything to its end."""
    while engine.pending:
        engine.step()


def picture(seed: int, width: int = 112, height: int = 112) -> PicturePart:
    """A picture of noise."""
    rgb = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8).tobytes()
    return PicturePart(sha256(rgb).digest(), width, height, rgb)


def prompt(question: str, seed: int | None = 1) -> list[Part]:
    """A turn of a dialogue, about a picture or none."""
    shown = [] if seed is None else [picture(seed)]
    return [
        TextPart("<|im_start|>user\n", trusted=True),
        *shown,
        TextPart(question, trusted=False),
        TextPart("<|im_end|>\n<|im_start|>assistant\n", trusted=True),
    ]


def answer(engine: Engine, parts: Sequence[Part], tokens: int = 16) -> list[str]:
    """What the engine says to a prompt."""
    given = Given()
    drive(engine, engine.builder.generation(parts, tokens, sink=given))
    assert given.finished.usage.generated_tokens == len(given.pieces)
    return given.texts
