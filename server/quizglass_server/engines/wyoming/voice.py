"""The voice of a Wyoming server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

from wyoming.audio import AudioChunk
from wyoming.event import Event
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeVoice

from quizglass_server.domain.sound import Sound, SoundFormat
from quizglass_server.engines.wyoming.link import Link
from quizglass_server.engines.wyoming.server import WyomingRole, WyomingServer
from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.ledger import handed, text_size

_LONGEST_S, _LONGEST_S_A_CHARACTER = 20.0, 0.5
"""How long a text may be spoken: slow voices take 0.15 s a character, and numbers many words."""
_RATES = range(8_000, 96_001)


class WyomingVoice(WyomingRole):
    """Speaks, one text after the other.

    Args:
        server: the voice.
        patience_s: seconds that it may say nothing.
    """

    def __init__(self, server: WyomingServer, patience_s: float) -> None:
        super().__init__(server)
        self._patience_s = patience_s

    async def speak(self, texts: AsyncIterator[str], language: str = "", name: str = "") -> AsyncGenerator[Sound, None]:
        """See `roles.speech.Voice`."""
        number = -1
        async for text in texts:
            number += 1
            line = " ".join(text.split())
            if not any(character.isalnum() for character in line):
                continue
            async with self.server.asked() as link:
                await self._ask(link, line, self._chosen(language, name))
                async for samples, format in self._spoken(link, line):
                    yield Sound(samples, format, number)

    def _chosen(self, language: str, name: str) -> SynthesizeVoice | None:
        """Which voice is to speak; None: the server's own choice, as for all that it does not know."""
        program = self.server.program
        if name in program.voice_names:
            return SynthesizeVoice(name=name)
        known = next((each for each in (language, language.replace("-", "_")) if each in program.languages), "")
        return SynthesizeVoice(language=known) if known else None

    async def _ask(self, link: Link, text: str, voice: SynthesizeVoice | None) -> None:
        handed(self.server.role, text_size(text))
        events = [Synthesize(text, voice).event()]
        if self.server.program.supports_synthesize_streaming:
            # Its sentences are then spoken one by one, where it would else begin once it has spoken them all.
            events = [SynthesizeStart(voice).event(), SynthesizeChunk(text).event(), SynthesizeStop().event()]
        for event in events:
            await link.send(event, self._patience_s)

    async def _spoken(self, link: Link, text: str) -> AsyncGenerator[tuple[bytes, SoundFormat], None]:
        end = "synthesize-stopped" if self.server.program.supports_synthesize_streaming else "audio-stop"
        most_s, seconds = _LONGEST_S + _LONGEST_S_A_CHARACTER * len(text), 0.0
        while (event := await self._next(link)).type != end:
            if event.type != "audio-chunk":
                continue
            samples, format = self._samples(event)
            seconds += format.seconds(len(samples))
            if seconds > most_s:
                raise EngineFailed(
                    f"{self.server.role} speaks for more than {most_s:.0f} s about {len(text)} characters"
                )
            yield samples, format

    async def _next(self, link: Link) -> Event:
        with self.server.answering(self._patience_s):
            return await link.receive(self._patience_s)

    def _samples(self, event: Event) -> tuple[bytes, SoundFormat]:
        try:
            chunk = AudioChunk.from_event(event)
            format = SoundFormat(int(chunk.rate), int(chunk.width), int(chunk.channels))
        except (KeyError, TypeError, ValueError):
            raise EngineFailed(f"{self.server.role} sends sound without its format") from None
        if format.width_bytes != 2 or format.channels not in (1, 2) or format.rate_hz not in _RATES:
            raise EngineFailed(f"{self.server.role} sends no 16-bit sound of 8 to 96 kHz")
        if len(chunk.audio) % format.frame_bytes:
            raise EngineFailed(f"{self.server.role} sends sound that ends in the middle of a sample")
        return chunk.audio, format
