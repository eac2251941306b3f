"""The roles of speech: the hearing makes text of it, the voice makes it of text."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Protocol

from quizglass_bundle.parts import HearingPart, SpeechPart, VoicePart
from quizglass_server.config.settings import SpeechOptions
from quizglass_server.domain.sound import Sound, SoundFormat, Transcript
from quizglass_server.errors import EngineFailed
from quizglass_server.roles.shared.loading import RoleKey

logger = logging.getLogger(__name__)


class Hearing(Protocol):
    """Recognises speech."""

    @property
    def ready(self) -> bool:
        """Whether it can be asked right now."""
        ...

    def transcribe(
        self, sound: AsyncIterator[bytes], format: SoundFormat, language: str = ""
    ) -> AsyncGenerator[Transcript, None]:
        """Recognise one speech while it comes.

        Args:
            sound: its pieces, of any size; its end is the end of the speech.
            format: of the pieces.
            language: BCP 47 tag of the speech; empty: the recogniser finds out.

        Yields:
            Partial transcripts where the recogniser gives them, then the final one, once.

        Raises:
            InvalidInput: the format is one that is not taken, or the sound is too long.
            EngineLost: the recogniser cannot be reached, died, or does not answer.
            EngineFailed: it answers with what is no transcript.
            Overloaded: too much speech waits for it.
        """
        ...


HEARING = RoleKey[Hearing]("hearing")


class Voice(Protocol):
    """Speaks."""

    @property
    def ready(self) -> bool:
        """Whether it can be asked right now."""
        ...

    def speak(self, texts: AsyncIterator[str], language: str = "", name: str = "") -> AsyncGenerator[Sound, None]:
        """Speak texts while they are written: the first is heard before the second is there.

        Args:
            texts: sentences or other segments of one answer, each spoken as a whole.
            language: BCP 47 tag of the texts; empty: that of the voice.
            name: which of its voices is to speak; empty, or none of them: its own choice.

        Yields:
            Pieces of 16-bit PCM, in order; each names its text by number. A text without words gives none.

        Raises:
            EngineLost: it cannot be reached, died, or does not answer.
            EngineFailed: it answers with what is no sound, or with far too much.
            Overloaded: too many texts wait for it.
        """
        ...


VOICE = RoleKey[Voice]("voice")


class SpeechEngine(Protocol):
    """What runs either role: begun and ended with the server, and there or not in between."""

    def start(self) -> None:
        """Begin to look after it; returns at once."""
        ...

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever it may have become ready or not."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


def given_speech(options: SpeechOptions) -> dict[str, SpeechPart]:
    """The roles that the settings give, in place of the bundle's own."""
    given: dict[str, SpeechPart] = {}
    if options.hearing is not None:  # not validated: the operator may name any machine, and a command
        given[HEARING.name] = HearingPart.model_construct(address=str(options.hearing))
    if options.voice is not None:
        given[VOICE.name] = VoicePart.model_construct(address=str(options.voice))
    return given


def speech_engine(part: SpeechPart, options: SpeechOptions) -> SpeechEngine:
    """What fills a role, not begun yet.

    Raises:
        EngineFailed: its package is not installed.
        SettingsError: the command that starts it names no program.
    """
    if part.server.leaves_machine:
        logger.warning("speech crosses the network without encryption", extra={"to": str(part.server)})
    try:
        from quizglass_server.engines.wyoming.hearing import WyomingHearing
        from quizglass_server.engines.wyoming.server import WyomingServer
        from quizglass_server.engines.wyoming.voice import WyomingVoice
    except ImportError as error:
        raise EngineFailed(f"{error.name} is not installed; in the clone: pip install '.[voice]'") from None
    if isinstance(part, HearingPart):
        server = WyomingServer(part.server, HEARING.name, "asr")
        return WyomingHearing(server, options.speech_patience_s)
    return WyomingVoice(WyomingServer(part.server, VOICE.name, "tts"), options.speech_patience_s)
