"""Encodes sound as Opus packets."""

import av
import numpy as np


def encoded(sound: bytes, *, channels: int = 1, frame_s: float = 0.02) -> list[bytes]:
    """Packets of 16-bit PCM with 48,000 samples a second."""
    layout = "mono" if channels == 1 else "stereo"
    encoder = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.layout, encoder.format = 48_000, layout, "s16"
    encoder.options = {"frame_duration": f"{frame_s * 1e3:g}"}
    samples = np.frombuffer(sound, "<i2").reshape(1, -1)
    size = round(48_000 * frame_s) * channels
    packets = []
    for at in range(0, samples.shape[1] // size * size, size):
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples[:, at : at + size]), "s16", layout)
        frame.sample_rate = 48_000
        packets += encoder.encode(frame)
    return [bytes(packet) for packet in [*packets, *encoder.encode(None)]]
