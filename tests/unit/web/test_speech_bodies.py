"""WAV files and forms: what is read of them, and what of strangers' is refused."""

from __future__ import annotations

import io
import struct
import wave
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.domain.sound import SoundFormat
from quizglass_server.errors import InvalidInput
from quizglass_server.web.speech.form import Form, read_form
from quizglass_server.web.speech.wav import read_wav, wav_head

LEVELS = [0.0, 0.5, -0.5, 0.25]


def riff(
    samples: bytes, number: int, bits: int, channels: int = 1, rate: int = 16_000, *, extensible: bool = False
) -> bytes:
    frame = channels * bits // 8
    about = struct.pack("<HHIIHH", 0xFFFE if extensible else number, channels, rate, rate * frame, frame, bits)
    about += struct.pack("<HHIH14s", 22, bits, 0, number, b"") if extensible else b""
    chunks = b"LIST" + struct.pack("<I", 3) + b"odd\0"
    chunks += b"fmt " + struct.pack("<I", len(about)) + about + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def integers(bits: int) -> bytes:
    values = [round(level * 2 ** (bits - 1)) for level in LEVELS]
    return b"".join(
        (value + 128 if bits == 8 else value).to_bytes(bits // 8, "little", signed=bits > 8) for value in values
    )


@pytest.mark.parametrize("extensible", [False, True])
@pytest.mark.parametrize(
    ("samples", "number", "bits"),
    [
        *((integers(bits), 1, bits) for bits in (8, 16, 24, 32)),
        (np.array(LEVELS, "<f4").tobytes(), 3, 32),
        (np.array(LEVELS, "<f8").tobytes(), 3, 64),
    ],
    ids=["8", "16", "24", "32", "float", "double"],
)
def test_samples_of_every_kind_become_16_bits(samples: bytes, number: int, bits: int, *, extensible: bool) -> None:
    read, format = read_wav(riff(samples, number, bits, extensible=extensible), "file")
    assert np.frombuffer(read, "<i2") / 32768 == pytest.approx(LEVELS, abs=0.0001)
    assert format == SoundFormat()


@given(st.binary(max_size=400), st.integers(1, 3), st.integers(8_000, 96_000))
def test_what_python_writes_is_read_back(samples: bytes, channels: int, rate: int) -> None:
    samples = samples[: len(samples) - len(samples) % (2 * channels)]
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(channels)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes(samples)
    assert read_wav(file.getvalue(), "file") == (samples, SoundFormat(rate, channels=channels))


def test_a_file_that_did_not_know_its_length_is_read_to_its_end() -> None:
    format = SoundFormat(24_000, channels=2)
    assert read_wav(wav_head(format) + b"abcdefgh", "file") == (b"abcdefgh", format)


def test_floats_beyond_full_scale_are_clipped() -> None:
    samples, _ = read_wav(riff(np.array([9, -9], "<f4").tobytes(), 3, 32), "file")
    assert np.frombuffer(samples, "<i2").tolist() == [32767, -32767]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is no WAV file"),
        (b"ID3" + bytes(100), "is no WAV file"),
        (b"RIFF\0\0\0\0WAVE", "without samples"),
        (riff(b"", 1, 16)[:-8], "without samples"),
        (b"RIFF\0\0\0\0WAVEdata\4\0\0\0abcd", "without samples"),
        (b"RIFF\0\0\0\0WAVEfmt \2\0\0\0ab", "does not say how"),
        (riff(b"", 7, 8), "format 7, 8 bits"),
        (riff(b"", 1, 16, channels=0), "0 channels"),
        (riff(b"", 1, 16, rate=0), "0 Hz"),
        (riff(np.array([np.nan], "<f4").tobytes(), 3, 32), "no numbers"),
    ],
)
def test_what_is_no_sound_is_refused_with_its_place(content: bytes, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        read_wav(content, "file")
    assert caught.value.field == "file"


@given(st.binary(max_size=200), st.integers(0, 60), st.binary(max_size=8))
def test_damaged_files_are_read_or_refused(samples: bytes, at: int, damage: bytes) -> None:
    content = bytearray(riff(samples, 1, 16))
    content[at : at + len(damage)] = damage
    with suppress(InvalidInput):
        read, format = read_wav(bytes(content), "file")
        assert len(read) % format.frame_bytes == 0


def part(head: str, content: bytes) -> bytes:
    return f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + content + b"\r\n"


FORM = "multipart/form-data; boundary=b"
FILE = part('name="file"; filename="a.wav"', b"\r\n--not the boundary\0")


def test_a_form_has_its_fields_and_files() -> None:
    body = part('name="model"', b"whisper-1") + FILE + part('name="language"', "é".encode()) + b"--b--\r\n"
    assert read_form(body, FORM) == Form({"model": "whisper-1", "language": "é"}, {"file": b"\r\n--not the boundary\0"})


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (FILE + b"--b--", "application/json", "multipart/form-data"),
        (FILE + b"--b--", "multipart/form-data", "boundary"),
        (FILE + b"--b--", f"multipart/form-data; boundary={'x' * 71}", "boundary"),
        (FILE, FORM, "ends before its form"),
        (b"what is this", FORM, "is no multipart/form-data|ends before"),
        (FILE * 33 + b"--b--", FORM, "more than 32 parts"),
        (part('name="prompt"', b"x" * 20_000) + b"--b--", FORM, "prompt: has more than"),
        (part("x" * 5_000, b"") + b"--b--", FORM, "bytes of headers|is no multipart"),
    ],
)
def test_what_is_no_form_or_holds_too_much_is_refused(body: bytes, kind: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        read_form(body, kind)


@given(st.binary(max_size=300))
def test_whatever_comes_as_a_form_is_read_or_refused(body: bytes) -> None:
    with suppress(InvalidInput):
        read_form(b"--b\r\n" + body, FORM)
