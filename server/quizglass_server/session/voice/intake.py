"""Makes sound as it was sent one kind of sound: 16-bit PCM, one channel, 16,000 samples a second."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import soxr
from numpy.typing import NDArray

from quizglass.session import Codec, SpeechStart
from quizglass_server.domain import checks
from quizglass_server.domain.sound import SoundFormat
from quizglass_server.errors import InvalidInput

HEARD = SoundFormat()
"""What recognisers and the detector of voices are given."""
MAX_PIECE_BYTES = 32 * 1024
_RATES_HZ = 8_000, 48_000
_MOST_CHANNELS = 2
_SAMPLE_BYTES = 2

Samples = NDArray[np.int16]


class SoundIntake(Protocol):
    """Takes the pieces of one speech."""

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
    """
    least, most = _RATES_HZ
    rate = checks.within(start.rate_hz, least, most, "rate_hz") if start.rate_hz else HEARD.rate_hz
    channels = checks.within(start.channels, 1, _MOST_CHANNELS, "channels") if start.channels else 1
    if start.codec is Codec.OPUS:
        raise InvalidInput("codec", "Opus is not taken yet; send PCM16")
    return PcmIntake(rate, channels)


class PcmIntake:
    """Sound that is sent as 16-bit PCM.

    Args:
        rate_hz: samples a second in each channel.
        channels: side by side.
    """

    def __init__(self, rate_hz: int, channels: int) -> None:
        self._channels = channels
        self._resampled = Resampler(rate_hz, HEARD.rate_hz)

    def take(self, data: bytes) -> bytes:
        """See `SoundIntake.take`."""
        if len(data) % (_SAMPLE_BYTES * self._channels):
            raise InvalidInput(
                "data", f"{len(data)} bytes are no whole samples of 16 bits in {self._channels} channel(s)"
            )
        return self._resampled.take(mono(data, self._channels)).tobytes()

    def end(self) -> bytes:
        """See `SoundIntake.end`."""
        return self._resampled.end().tobytes()


class Resampler:
    """Sound of one channel at another rate, piece by piece.

    Args:
        rate_hz: of the input.
        wanted_hz: of the output.
    """

    def __init__(self, rate_hz: int, wanted_hz: int) -> None:
        self._stream: Any = None
        if rate_hz != wanted_hz:
            self._stream = soxr.ResampleStream(rate_hz, wanted_hz, 1, dtype="int16")

    def take(self, samples: Samples) -> Samples:
        """A piece at the other rate, as far as it can be told yet."""
        found: Samples = samples if self._stream is None else self._stream.resample_chunk(samples)
        return found

    def end(self) -> Samples:
        """The rest."""
        nothing = np.zeros(0, np.int16)
        rest: Samples = nothing if self._stream is None else self._stream.resample_chunk(nothing, last=True)
        return rest


def mono(data: bytes, channels: int) -> Samples:
    """The samples of all channels as those of one."""
    samples: Samples = np.frombuffer(data, "<i2")
    if channels > 1:
        samples = samples.reshape(-1, channels).mean(axis=1).astype(np.int16)
    return samples
