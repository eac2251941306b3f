"""Sound in a wearable's session, as plain values; classes are named as their messages in session.proto.

`quizglass.session` has these too, and the message that begins a spoken question.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Codec(StrEnum):
    """How sound is written."""

    UNKNOWN = ""
    """As PCM16."""
    PCM16 = "pcm16"
    OPUS = "opus"


class SpeechState(StrEnum):
    """How far a spoken question is."""

    UNKNOWN = ""
    LISTENING = "listening"
    VOICE = "voice"
    ENDED = "ended"
    PAUSE = "pause"
    """The wearer may have begun to speak over an answer, which is to be paused; VOICE or RESUME follows."""
    RESUME = "resume"
    """It was not the wearer: play on."""


class Command(StrEnum):
    """What a wearer's words want at once, without a turn."""

    NONE = ""
    STOP = "stop"
    LOUDER = "louder"
    QUIETER = "quieter"


@dataclass(frozen=True, slots=True)
class Playing:
    """Which sound of an answer was heard while a piece was recorded."""

    ask_id: str
    at: float = 0.0
    """Seconds of the answer's sound that were played when the piece began."""
    paused: bool = False
    """Whether it is paused there."""


@dataclass(frozen=True, slots=True)
class SpeechAudio:
    """A piece of the sound of a speech."""

    id: str
    seq: int
    data: bytes
    playing: Playing | None = None


@dataclass(frozen=True, slots=True)
class SpeechEnd:
    """The wearer has spoken."""

    id: str
    parts: int


@dataclass(frozen=True, slots=True)
class SpeechStatus:
    """What the session has of a speech."""

    id: str
    state: SpeechState
    next_seq: int = 0


@dataclass(frozen=True, slots=True)
class SpeechTranscript:
    """What was heard of a speech."""

    ask_id: str
    text: str
    final: bool = False
    language: str = ""
    probability: float | None = None
    command: Command = Command.NONE

    @property
    def asks(self) -> bool:
        """Whether it is a question, whose turn follows."""
        return self.final and bool(self.text) and self.command is Command.NONE


@dataclass(frozen=True, slots=True)
class AnswerAudio:
    """A piece of an answer's sound, 16-bit PCM."""

    ask_id: str
    segment: int
    rate_hz: int
    channels: int
    data: bytes
    last: bool = False
    """Of its segment."""


@dataclass(frozen=True, slots=True)
class AnswerSpoken:
    """No more sound comes of an answer."""

    ask_id: str
    whole: bool
    heard: str = ""
    unheard: str = ""
    reason: str = ""
    """Why it is not whole."""
