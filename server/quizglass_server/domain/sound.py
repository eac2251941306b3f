"""Sound on its way through the server, and what was heard in it. It is kept nowhere."""

from __future__ import annotations

from dataclasses import dataclass

PCM = "pcm"
"""Signed little-endian integers, the channels of one moment side by side."""

SPEECH_ROLES = frozenset({"hearing", "voice"})
"""What recognises speech and what speaks, by the names of their roles; turns in text go without."""


@dataclass(frozen=True, slots=True)
class SoundFormat:
    """How sound is written. The default is what speech recognisers take."""

    rate_hz: int = 16_000
    """Moments a second."""
    width_bytes: int = 2
    """Bytes of one sample."""
    channels: int = 1
    codec: str = PCM

    @property
    def frame_bytes(self) -> int:
        """Bytes of one moment in all channels."""
        return self.width_bytes * self.channels

    @property
    def bytes_per_second(self) -> int:
        """Bytes of a second, uncompressed."""
        return self.rate_hz * self.frame_bytes

    def seconds(self, size: int) -> float:
        """How long so many bytes last."""
        return size / self.bytes_per_second


@dataclass(frozen=True, slots=True)
class Sound:
    """A piece of spoken text."""

    samples: bytes
    """Whole moments, in the format."""
    format: SoundFormat
    text: int
    """Which of the texts it belongs to: 0 for the first."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was heard so far."""

    text: str
    """All of it, from the beginning of the speech; empty: no words."""
    final: bool
    """Whether the speech is over, and this is the last."""
    language: str = ""
    """BCP 47 tag, such as "en"; empty: unknown."""
    probability: float | None = None
    """That the words are right, 0 to 1; None: the recogniser does not say."""
