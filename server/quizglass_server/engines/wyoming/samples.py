"""Sound as recognisers take it: 16 kHz, mono, 16 bits, whatever it came in."""

from __future__ import annotations

from quizglass_server.decoding.resampling import Resampler, mono
from quizglass_server.domain.sound import PCM, SoundFormat
from quizglass_server.errors import InvalidInput

HEARD = SoundFormat()
"""What recognisers are given."""
_RATES = range(8_000, 192_001)
_MOST_CHANNELS = 8


class SampleConverter:
    """Converts one speech, piece by piece.

    Args:
        format: of the pieces.
        most_s: seconds that it may last.

    Raises:
        InvalidInput: the format is not taken.
    """

    def __init__(self, format: SoundFormat, most_s: float) -> None:
        if format.codec != PCM or format.width_bytes != HEARD.width_bytes:
            raise InvalidInput("format", f"{8 * format.width_bytes}-bit {format.codec} is not taken; send 16-bit PCM")
        if format.rate_hz not in _RATES or not 1 <= format.channels <= _MOST_CHANNELS:
            told = f"{format.rate_hz} Hz in {format.channels} channels is not taken; send 8,000 to 192,000 Hz in 1 to 8"
            raise InvalidInput("format", told)
        self._format = format
        self._most_s = most_s
        self._left = b""
        self._received = 0
        # The resampler is asked for all that has one, and one channel is enough: recognisers hear no stereo.
        self._resampler = Resampler(format.rate_hz, HEARD.rate_hz)

    @property
    def seconds(self) -> float:
        """How long the speech is so far."""
        return self._format.seconds(self._received)

    def converted(self, piece: bytes) -> bytes:
        """A piece as it is heard; the bytes of a sample that is not whole wait for the next one.

        Raises:
            InvalidInput: the speech is too long.
        """
        self._received += len(piece)
        if self.seconds > self._most_s:
            raise InvalidInput(
                "sound", f"is more than the {self._most_s:g} s that are taken at once; ask in shorter ones"
            )
        data = self._left + piece
        whole = len(data) - len(data) % self._format.frame_bytes
        self._left = data[whole:]
        return self._resampler.take(mono(data[:whole], self._format.channels)).tobytes()

    def rest(self) -> bytes:
        """What is still to be heard at the end.

        Raises:
            InvalidInput: the last sample is not whole.
        """
        if self._left:
            raise InvalidInput(
                "sound", f"ends in the middle of a sample, {len(self._left)} bytes after the last whole one"
            )
        return self._resampler.end().tobytes()
