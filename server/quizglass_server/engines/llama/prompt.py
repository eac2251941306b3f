"""What both ends of the generator process exchange, in plain types."""

from __future__ import annotations

from dataclasses import dataclass


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
    """Of `rgb`."""
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
class Finished:
    """How a generation ended."""

    reason: str
    """stop, length or cancelled."""
    usage: Usage
