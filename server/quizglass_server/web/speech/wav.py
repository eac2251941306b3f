"""WAV files (RIFF): those of strangers as 16-bit samples, and the head of one that is being spoken."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quizglass_server.domain.sound import SoundFormat
from quizglass_server.errors import InvalidInput

_INTEGERS, _FLOATS, _EXTENSIBLE = 1, 3, 0xFFFE
_SUBFORMAT = 24
"""Where an extensible format has the number of the format that it stands for."""
_UNKNOWN_SIZE = 0xFFFFFFFF
"""What programs write that do not know yet how long their sound will be."""
_HEAD_AFTER_SIZE = 36


def read_wav(content: bytes, place: str) -> tuple[bytes, SoundFormat]:
    """The samples of a file, as 16-bit integers.

    Args:
        content: the file; integers of 8 to 32 bits, or floats.
        place: what it is called in errors.

    Raises:
        InvalidInput: it is none, or of a kind that is not taken.
    """
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise InvalidInput(
            place, "is no WAV file, the only kind that is taken; convert it (ffmpeg -i FILE question.wav)"
        )
    kind: tuple[int, int, int, int] | None = None
    for name, chunk in _chunks(content):
        if name == b"fmt ":
            kind = _kind(chunk, place)
        elif name == b"data":
            if kind is None:
                break
            return _samples(chunk, kind, place)
    raise InvalidInput(place, "is a WAV file without samples; was it cut off?")


def wav_head(format: SoundFormat) -> bytes:
    """How a file begins whose length is not known yet."""
    about = (_INTEGERS, format.channels, format.rate_hz, format.bytes_per_second, format.frame_bytes, 16)
    parts = (b"RIFF", _UNKNOWN_SIZE, b"WAVE", b"fmt ", 16, *about, b"data", _UNKNOWN_SIZE - _HEAD_AFTER_SIZE)
    return struct.pack("<4sI4s4sIHHIIHH4sI", *parts)


def _chunks(content: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Names and contents; the last one ends with the file, whatever it says of its size."""
    view, at = memoryview(content), 12
    while at + 8 <= len(content):
        name, size = bytes(view[at : at + 4]), int.from_bytes(view[at + 4 : at + 8], "little")
        yield name, view[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def _kind(chunk: memoryview, place: str) -> tuple[int, int, int, int]:
    """Number of the format, channels, rate, bits of a sample."""
    if len(chunk) < 16:
        raise InvalidInput(place, "does not say how its samples are written")
    number, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if number == _EXTENSIBLE and len(chunk) >= _SUBFORMAT + 2:
        (number,) = struct.unpack_from("<H", chunk, _SUBFORMAT)
    if (number, bits) not in {
        (_INTEGERS, 8),
        (_INTEGERS, 16),
        (_INTEGERS, 24),
        (_INTEGERS, 32),
        (_FLOATS, 32),
        (_FLOATS, 64),
    }:
        raise InvalidInput(place, f"has samples of a kind that is not taken (format {number}, {bits} bits); send PCM")
    if not channels or not rate:
        raise InvalidInput(place, f"says that it has {channels} channels of {rate} Hz")
    return number, channels, rate, bits


def _samples(chunk: memoryview, kind: tuple[int, int, int, int], place: str) -> tuple[bytes, SoundFormat]:
    number, channels, rate, bits = kind
    frame = channels * bits // 8
    whole = chunk[: len(chunk) - len(chunk) % frame]
    values = _floats(whole, bits, place) if number == _FLOATS else _integers(whole, bits)
    return values.astype("<i2").tobytes(), SoundFormat(rate_hz=rate, channels=channels)


def _integers(samples: memoryview, bits: int) -> NDArray[Any]:
    match bits:
        case 8:
            return (np.frombuffer(samples, np.uint8).astype(np.int16) - 128) * np.int16(256)
        case 24:
            return np.frombuffer(samples, np.uint8).reshape(-1, 3)[:, 1:].copy().view("<i2").reshape(-1)
        case 32:
            return np.frombuffer(samples, "<i2")[1::2]  # the upper halves
        case _:
            return np.frombuffer(samples, "<i2")


def _floats(samples: memoryview, bits: int, place: str) -> NDArray[Any]:
    values = np.frombuffer(samples, "<f4" if bits == 32 else "<f8")
    if not np.isfinite(values).all():
        raise InvalidInput(place, "has samples that are no numbers (NaN or infinite)")
    scaled: NDArray[Any] = np.rint(np.clip(values, -1, 1) * 32767)
    return scaled
