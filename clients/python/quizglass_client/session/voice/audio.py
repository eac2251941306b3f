"""Where the sound of a spoken question comes from: a WAV file, its bytes, or pieces as they are recorded."""

from __future__ import annotations

import asyncio
import io
import wave
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from quizglass.session import Codec
from quizglass_client.errors import InvalidRequest

AudioLike = str | Path | bytes | Iterable[bytes] | AsyncIterable[bytes]
"""A WAV file, its bytes, or pieces as they come: 16-bit PCM, or packets of Opus."""
_PIECE_S = 0.1
_MOST_BYTES = 32 * 1024
_SAMPLE_BYTES = 2


@dataclass(frozen=True, slots=True)
class Spoken:
    """What is spoken, and what becomes of it; as the arguments of `AsyncSession.say`."""

    audio: AudioLike
    frame: bytes = b""
    overlap: str = "interrupt"
    rate_hz: int = 16_000
    channels: int = 1
    ends_by_silence: bool = False
    language: str = ""
    codec: str = "pcm16"
    pauses: bool = False


@dataclass(slots=True)
class Recording:
    """Sound in pieces: 16-bit PCM, little-endian, channels side by side; or a packet of Opus each."""

    rate_hz: int
    channels: int
    pieces: AsyncIterator[bytes]
    codec: Codec = Codec.PCM16
    ended: bool = False
    """Whether no more pieces come."""
    back: deque[bytes] = field(default_factory=deque)
    """Pieces that were read and belong to what is spoken next."""
    failure: Exception | None = None
    """Why no more can be read."""

    async def next(self) -> bytes | None:
        """The next piece; None: there are no more. Raises what the source does, now and later."""
        if self.back:
            return self.back.popleft()
        if self.failure is not None:
            raise self.failure
        try:
            piece = await anext(self.pieces, None)
        except Exception as error:
            self.failure = error
            raise
        self.ended = piece is None
        return None if piece is None else memoryview(piece).tobytes()

    async def let_go(self) -> None:
        """Release the source of pieces."""
        close = getattr(self.pieces, "aclose", None)
        if close is not None:
            with suppress(RuntimeError):  # it is being read
                await close()


def recording(audio: AudioLike, rate_hz: int, channels: int, codec: str) -> Recording:
    """The pieces of a sound.

    Args:
        audio: what to read.
        rate_hz: samples a second in each channel of pieces; a WAV file says it itself.
        channels: of pieces.
        codec: of pieces, pcm16 or opus.

    Raises:
        InvalidRequest: it is no WAV file of 16-bit PCM, or no sound at all.
        OSError: the file cannot be read.
    """
    if isinstance(audio, str | Path):
        return _of_wav(Path(audio).read_bytes(), str(audio))
    if isinstance(audio, bytes):
        return _of_wav(audio, "audio")
    if codec not in (Codec.PCM16, Codec.OPUS):
        raise InvalidRequest.of("codec", f"{codec!r} is none of {Codec.PCM16}, {Codec.OPUS}")
    for name, number in (("rate_hz", rate_hz), ("channels", channels)):
        if not 0 < number < 1 << 31:
            raise InvalidRequest.of(name, f"{number} is not above 0")
    if isinstance(audio, AsyncIterable):
        pieces = aiter(audio)
    elif isinstance(audio, Iterable):
        pieces = _on_thread(iter(audio))
    else:
        raise InvalidRequest.of("audio", f"{type(audio).__name__} is no WAV file and gives no pieces of sound")
    if codec == Codec.PCM16:
        pieces = _small(pieces, _SAMPLE_BYTES * channels)
    return Recording(rate_hz, channels, pieces, Codec(codec))


def _of_wav(data: bytes, name: str) -> Recording:
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, channels, width = file.getframerate(), file.getnchannels(), file.getsampwidth()
            samples = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        told = f"{name} is no WAV file of 16-bit PCM: {error}; ffmpeg -i FILE -ar 16000 -ac 1 OUT.wav makes one"
        raise InvalidRequest.of("audio", told) from None
    if width != _SAMPLE_BYTES:
        told = f"{name} has samples of {8 * width} bits; ffmpeg -i FILE -ar 16000 -ac 1 OUT.wav makes them 16"
        raise InvalidRequest.of("audio", told)
    frame = _SAMPLE_BYTES * channels
    size = min(round(_PIECE_S * rate), _MOST_BYTES // frame) * frame
    return Recording(rate, channels, _each(samples[at : at + size] for at in range(0, len(samples), size)))


async def _each(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _on_thread(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Pieces of an iterator that may wait for each."""
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


async def _small(pieces: AsyncIterable[bytes], frame: int) -> AsyncIterator[bytes]:
    """The same sound in pieces of whole samples that a server takes as one message."""
    rest, most = b"", _MOST_BYTES // frame * frame
    async for piece in pieces:
        rest += piece
        whole = len(rest) // frame * frame
        for at in range(0, whole, most):
            yield rest[at : min(at + most, whole)]
        rest = rest[whole:]
    if rest:
        yield rest  # half a sample: the server says what is wrong with it
