"""What the generator is asked and what it answers, in plain types."""

from __future__ import annotations

from dataclasses import dataclass

from quizglass_server.errors import QuizglassError


@dataclass(frozen=True, slots=True)
class TextPart:
    """A run of text from one origin, tokenised on its own."""

    text: str
    trusted: bool
    """Template text, where special tokens are parsed; they never are in data."""


@dataclass(frozen=True, slots=True)
class PicturePart:
    """A picture as the model is shown it."""

    sha256: bytes
    """Names the picture in all caches: of its pixels and of who sent it, so that clients do not share any."""
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


@dataclass(frozen=True, slots=True)
class Urgency:
    """How urgent a request is, and when its result comes too late."""

    background: bool = False
    """Work for a guess: it waits while turns run, unless it goes ahead of them."""
    ahead: bool = False
    """Whether it goes before other turns: of a client that has fewer of them than another."""
    deadline: float | None = None
    """`time.monotonic()` after which the result is of no use."""


TURN, BACKGROUND = Urgency(), Urgency(background=True)
"""Of a request that says no more than that, and of work for a guess."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """What an answer must look like."""

    grammar: str
    """In GBNF, of which `root` is the whole answer."""
    lines: int = 0
    """At most so many lines, for servers that follow no grammar; 0: the grammar alone says it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a generation ended."""

    reason: str
    """stop, length or deadline."""
    usage: Usage


class PromptRefused(QuizglassError):
    """The generator cannot serve this prompt; the message names the limit. Models turn it into a field's error."""

    code = "PROMPT_REFUSED"


class ConstraintUnusable(QuizglassError):
    """The generator cannot keep to what the answer must look like; the message says why."""

    code = "CONSTRAINT_REFUSED"
