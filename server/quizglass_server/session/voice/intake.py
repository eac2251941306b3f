"""Makes sound as it was sent one kind of sound: 16-bit PCM, one channel, 16,000 samples a second."""

from __future__ import annotations

from typing import Protocol

from quizglass.session import Codec, SpeechStart
from quizglass_server.decoding.resampling import Resampler, mono
from quizglass_server.domain import checks
from quizglass_server.domain.sound import SoundFormat
from quizglass_server.errors import InvalidInput
from quizglass_server.session.voice.opus import OpusIntake

HEARD = SoundFormat()
"""What recognisers and the detector of voices are given."""
MAX_PIECE_BYTES = 32 * 1024
_RATES_HZ = 8_000, 48_000
_MOST_CHANNELS = 2
_SAMPLE_BYTES = 2
LONGEST_PIECE_S = MAX_PIECE_BYTES / (_SAMPLE_BYTES * _RATES_HZ[0])
"""Seconds of sound in one piece, at most."""


class SoundIntake(Protocol):
    """Takes the pieces of one speech."""

    def seconds(self, data: bytes) -> float:
        """How long the sound of a piece is; nothing is converted.

        Raises:
            InvalidInput: it is no sound of the announced kind.
        """
        ...

    def take(self, data: bytes) -> bytes:
        """A piece as 16-bit PCM of 16,000 samples a second.

        Raises:
            InvalidInput: it is no sound of the announced kind.
        """
        ...

    def end(self) -> bytes:
        """What was held back until the next piece."""
        ...


def intake(start: SpeechStart) -> SoundIntake:
    """What takes the sound that a client announces.

    Raises:
        InvalidInput: it is of a kind that is not taken.
        EngineFailed: what decodes it is not installed.
    """
    least, most = _RATES_HZ
    rate = checks.within(start.rate_hz, least, most, "rate_hz") if start.rate_hz else HEARD.rate_hz
    channels = checks.within(start.channels, 1, _MOST_CHANNELS, "channels") if start.channels else 1
    if start.codec is Codec.OPUS:
        return OpusIntake(HEARD.rate_hz)
    return PcmIntake(rate, channels)


class PcmIntake:
    """Sound that is sent as 16-bit PCM.

    Args:
        rate_hz: samples a second in each channel.
        channels: side by side.
    """

    def __init__(self, rate_hz: int, channels: int) -> None:
        self._channels, self._rate_hz = channels, rate_hz
        self._resampled = Resampler(rate_hz, HEARD.rate_hz)

    def seconds(self, data: bytes) -> float:
        """See `SoundIntake.seconds`."""
        samples, rest = divmod(len(data), _SAMPLE_BYTES * self._channels)
        if rest:
            raise InvalidInput(
                "data", f"{len(data)} bytes are no whole samples of 16 bits in {self._channels} channel(s)"
            )
        return samples / self._rate_hz

    def take(self, data: bytes) -> bytes:
        """See `SoundIntake.take`."""
        self.seconds(data)
        return self._resampled.take(mono(data, self._channels)).tobytes()

    def end(self) -> bytes:
        """See `SoundIntake.end`."""
        return self._resampled.end().tobytes()
