"""The hearing of a Wyoming server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

from wyoming.asr import Transcribe
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Event

from quizglass.text import plain
from quizglass_server.domain.sound import SoundFormat, Transcript
from quizglass_server.engines.wyoming.link import Link
from quizglass_server.engines.wyoming.samples import HEARD, SampleConverter
from quizglass_server.engines.wyoming.server import WyomingRole, WyomingServer
from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.ledger import handed

LONGEST_S = 300.0
"""Seconds that a speech may last, be it in a file."""
_MOST_CHARS = 20_000
_PIECE = HEARD.bytes_per_second // 10
"""Bytes of an event: recognisers that hear while it is spoken work in about such pieces."""
_NO_WORDS = re.compile(r"(?:\s|[♪.…-]|\[[^\[\]]*\]|\([^()]*\)|\*[^*]*\*)*")
"""What recognisers write of sound without words: "[BLANK_AUDIO]", "(music)", "♪"."""


class WyomingHearing(WyomingRole):
    """Recognises speech.

    Args:
        server: the recogniser.
        patience_s: seconds that the recogniser may say nothing once the speech is over.
        most_s: seconds that a speech may last.
    """

    def __init__(self, server: WyomingServer, patience_s: float, most_s: float = LONGEST_S) -> None:
        super().__init__(server)
        self._most_s = most_s
        self._patience_s = patience_s

    @property
    def languages(self) -> frozenset[str]:
        """That the recogniser knows."""
        return self.server.program.languages

    async def transcribe(
        self, sound: AsyncIterator[bytes], format: SoundFormat, language: str = ""
    ) -> AsyncGenerator[Transcript, None]:
        """See `roles.speech.Hearing`."""
        converter = SampleConverter(format, self._most_s)
        first = await _first(sound, converter)
        if not first:
            yield Transcript("", final=True)
            return
        async with self.server.asked() as link:
            await self._begin(link, language)
            sending = asyncio.create_task(self._send(link, first, sound, converter), name="speech")
            try:
                async for transcript in self._heard(link, sending):
                    yield transcript
            finally:
                sending.cancel()
                await asyncio.wait({sending})

    async def _begin(self, link: Link, language: str) -> None:
        known = language if language in self.languages else language.partition("-")[0]
        await link.send(Transcribe(language=known or None).event(), self._patience_s)
        start = AudioStart(rate=HEARD.rate_hz, width=HEARD.width_bytes, channels=HEARD.channels)
        await link.send(start.event(), self._patience_s)

    async def _send(self, link: Link, first: bytes, sound: AsyncIterator[bytes], converter: SampleConverter) -> None:
        await self._say(link, first)
        async for piece in sound:
            await self._say(link, converter.converted(piece))
        await self._say(link, converter.rest())
        await link.send(AudioStop().event(), self._patience_s)

    async def _say(self, link: Link, samples: bytes) -> None:
        handed(self.server.role, len(samples))
        for start in range(0, len(samples), _PIECE):
            piece = samples[start : start + _PIECE]
            chunk = AudioChunk(HEARD.rate_hz, HEARD.width_bytes, HEARD.channels, piece)
            await link.send(chunk.event(), self._patience_s)

    async def _heard(self, link: Link, sending: asyncio.Task[None]) -> AsyncGenerator[Transcript, None]:
        text, language = "", ""
        while True:
            event = await self._next(link, sending)
            said = event.data.get("text", "")
            language = _tag(event.data.get("language")) or language
            before = len(text) if event.type == "transcript-chunk" else 0  # a transcript has all that its chunks had
            if not isinstance(said, str) or before + len(said) > _MOST_CHARS:
                raise EngineFailed(
                    f"{self.server.role}: the transcript is no text, or has more than {_MOST_CHARS} characters"
                )
            match event.type:
                case "transcript-chunk":
                    text += said
                    yield Transcript(_words(text), final=False, language=language)
                case "transcript":
                    yield Transcript(_words(said), final=True, language=language)
                    return
                case "transcript-stop":
                    yield Transcript(_words(text), final=True, language=language)
                    return

    async def _next(self, link: Link, sending: asyncio.Task[None]) -> Event:
        """The next event; what goes wrong while the speech is sent is raised, and ends the wait."""
        receiving = asyncio.ensure_future(link.receive())
        try:
            await asyncio.wait({receiving, sending}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and not receiving.done():
                sending.result()
                with self.server.answering(self._patience_s):
                    await asyncio.wait({receiving}, timeout=self._patience_s)
            if receiving.done():
                return receiving.result()
        finally:
            receiving.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({receiving})
        raise link.silence(self._patience_s)


async def _first(sound: AsyncIterator[bytes], converter: SampleConverter) -> bytes:
    """The first samples of a speech; empty where there are none. No place is taken before."""
    async for piece in sound:
        if samples := converter.converted(piece):
            return samples
    return converter.rest()


def _words(text: str) -> str:
    """A transcript in one line, empty where it has no words."""
    line = " ".join(plain(text).split())
    return "" if _NO_WORDS.fullmatch(line) else line


def _tag(language: object) -> str:
    return language[:35] if isinstance(language, str) else ""
