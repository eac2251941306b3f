"""Sound of any number of channels as one, and at another rate, piece by piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

Samples = NDArray[np.int16]


class Resampler:
    """Sound of one channel at another rate.

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
    """The mean of all channels, of whole samples of 16 bits."""
    samples: Samples = np.frombuffer(data, "<i2")
    if channels > 1:
        samples = samples.reshape(-1, channels).mean(axis=1).round().astype(np.int16)
    return samples
