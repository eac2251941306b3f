"""The roles of speech: the hearing makes text of it, the voice makes it of text."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol

from quizglass_server.domain.sound import Sound, SoundFormat, Transcript
from quizglass_server.models.loading import RoleKey


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
            language: BCP 47 tag of what is spoken; empty: the recogniser finds out.

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
