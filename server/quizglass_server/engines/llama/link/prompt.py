"""What both ends of the generator process exchange, in plain types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TextPart:
    """A run of text from one origin, tokenised on its own."""

    text: str
    trusted: bool
    """Template text, where special tokens are parsed; they never are in data."""


@dataclass(frozen=True, slots=True)
class PicturePart:
    """A picture of the model's size."""

    sha256: bytes
    """SHA-256 of `rgb`."""
    width: int
    height: int
    rgb: bytes
    """width * height * 3 bytes."""


Part = TextPart | PicturePart


@dataclass(frozen=True, slots=True)
class Piece:
    """One generated token."""

    text: str
    """Empty while a character is incomplete."""
    probability: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What a request cost."""

    prompt_tokens: int
    reused_tokens: int = 0
    generated_tokens: int = 0
    engine_us: int = 0
    encoded_picture: bool = False


@dataclass(frozen=True, slots=True)
class Urgency:
    """How urgent a request is, and when its result comes too late."""

    background: bool = False
    """Work for a guess: turns go first, and answers that are being written hardly feel it."""
    ahead: bool = False
    """Whether it goes before other turns: of an address that has fewer of them than another."""
    deadline: float | None = None
    """`time.monotonic()`, which all processes share, after which nobody waits for the result."""


TURN, BACKGROUND = Urgency(), Urgency(background=True)
"""Of a request that says no more than that, and of work for a guess."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """What an answer must look like."""

    grammar: str
    """In GBNF, of which `root` is the whole answer."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a generation ended."""

    reason: str
    """stop, length, cancelled or deadline."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class EngineStats:
    """What the engine thread says of itself; readable from any thread."""

    beat: float = 0.0
    """`time.monotonic()` of its last sign of life."""
    busy: bool = False
    """Inside a call of llama.cpp since `beat`."""
    active: int = 0
    """Requests whose prompt is being read or whose answer is being written."""
    waiting: int = 0
    """Requests not begun yet, or waiting for their picture."""
    cells_used: int = 0
    cells: int = 0
    """Cells of the KV cache; one token of one prompt takes one."""
    decode_steps: int = 0
    encoded_pictures: int = 0
    kept: int = 0
    """Prefixes kept for later requests."""
    reused_tokens: int = 0
    prefilled_tokens: int = 0
    step_us: tuple[int, ...] = ()
    """Measured cost of a decode step of 1, 2, ... sequences."""
    prefill_us: int = 0
    """Measured cost of the largest piece of a prompt that is read at once."""
    encoding_us: int = 0
    """How long the picture that is being encoded has taken so far; 0 if there is none."""
    encode_us: int = 0
    """Usual cost of encoding a picture."""

    @property
    def pending(self) -> int:
        """Requests that have not ended."""
        return self.active + self.waiting


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed."""

    reason: Literal["refused", "constraint refused", "pixels missing", "overloaded", "too late", "failed"]
    message: str
    retry_after_s: float = 0.0
    """For "overloaded": seconds after which there may be room."""


class RequestRefused(Exception):
    """The request cannot be served as it is; the message names the limit."""


class ConstraintRefused(RequestRefused):
    """What an answer must look like cannot be understood, or is too much; the message says why."""


class TooLate(Exception):
    """The deadline cannot be met, or has passed, though nothing stands in the way; the message says by how much."""


class Busy(Exception):
    """The queue is full, or the deadline cannot be met because of others; nothing was done for the request."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
