"""Speech in files of a known length, handed to the hearing."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator

from quizglass_server.domain.sound import SoundFormat, Transcript
from quizglass_server.errors import InvalidInput
from quizglass_server.roles.speech import Hearing
from quizglass_server.web.speech.wav import read_wav

_PIECE = 1 << 16
_READ_HERE = 1 << 18
"""Bytes of files that are read where they come in, which takes less than a change of threads."""


async def recorded(content: bytes, place: str) -> tuple[bytes, SoundFormat]:
    """The samples of a WAV file. Raises InvalidInput, which names its place."""
    if len(content) <= _READ_HERE:
        return read_wav(content, place)
    return await asyncio.to_thread(read_wav, content, place)


def decoded(data: str, place: str) -> bytes:
    """What base64 stands for. Raises InvalidInput."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(place, "is not base64") from None


async def pieces(samples: bytes) -> AsyncIterator[bytes]:
    """Samples as they would come from a microphone, only sooner."""
    for start in range(0, len(samples), _PIECE):
        yield samples[start : start + _PIECE]


async def heard(hearing: Hearing, content: bytes, language: str, place: str) -> Transcript:
    """What is said in a WAV file.

    Raises:
        InvalidInput: it is none, or too long; names its place.
        QuizglassError: as `Hearing.transcribe`.
    """
    samples, format = await recorded(content, place)
    final = Transcript("", final=True)
    try:
        async for transcript in hearing.transcribe(pieces(samples), format, language):
            final = transcript
    except InvalidInput as error:
        raise InvalidInput(place, error.description) from None
    return final
