"""Speech that is sent as Opus (RFC 6716), one packet a piece, decoded by FFmpeg (`av`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from quizglass_server.decoding.resampling import Resampler
from quizglass_server.errors import EngineFailed, InvalidInput

RATE_HZ = 48_000
"""Samples a second that Opus is decoded to, whatever was encoded."""
_SILK, _HYBRID, _CELT = (0.01, 0.02, 0.04, 0.06), (0.01, 0.02), (0.0025, 0.005, 0.01, 0.02)
_HYBRID_FROM, _CELT_FROM = 12, 16
_SEVERAL = 3
_LONGEST_S = 0.12
_FULL_SCALE = 32767


def packet_seconds(packet: bytes) -> float:
    """How long a packet's sound is, from its table of contents (sections 3.1 and 3.2); nothing is decoded.

    Raises:
        InvalidInput: no packet begins so.
    """
    if not packet:
        raise InvalidInput("data", "an empty Opus packet")
    config, code = packet[0] >> 3, packet[0] & 3
    frames = (1, 2, 2)[code] if code != _SEVERAL else (packet[1] & 63 if len(packet) > 1 else 0)
    if config >= _CELT_FROM:
        frame = _CELT[config % 4]
    elif config >= _HYBRID_FROM:
        frame = _HYBRID[config % 2]
    else:
        frame = _SILK[config % 4]
    seconds = frames * frame
    if not 0 < seconds <= _LONGEST_S + 1e-9:
        raise InvalidInput("data", f"an Opus packet of {frames} frames of {frame * 1e3:g} ms; one has up to 120 ms")
    return seconds


class OpusIntake:
    """Sound in Opus packets; its rate and channels are in the packets themselves.

    Args:
        rate_hz: of the sound that it gives.

    Raises:
        EngineFailed: the package that decodes it is not installed.
    """

    def __init__(self, rate_hz: int) -> None:
        try:
            import av
        except ImportError:
            raise EngineFailed(
                "Opus is not decoded here; in the clone: pip install '.[voice]', or send PCM16"
            ) from None
        self._av: Any = av
        self._decoder: Any = av.CodecContext.create("opus", "r")
        self._resampled = Resampler(RATE_HZ, rate_hz)

    def seconds(self, data: bytes) -> float:
        """See `SoundIntake.seconds`."""
        return packet_seconds(data)

    def take(self, data: bytes) -> bytes:
        """See `SoundIntake.take`."""
        try:
            frames = [frame.to_ndarray() for frame in self._decoder.decode(self._av.Packet(data))]
        except self._av.FFmpegError as error:
            raise InvalidInput("data", f"no Opus packet: {error.strerror}") from None
        if not frames:
            return b""
        mixed = np.concatenate([frame.mean(axis=0) for frame in frames])  # float32 [channels, samples]
        samples = np.rint(np.nan_to_num(mixed).clip(-1, 1) * _FULL_SCALE).astype(np.int16)
        return self._resampled.take(samples).tobytes()

    def end(self) -> bytes:
        """See `SoundIntake.end`."""
        return self._resampled.end().tobytes()
