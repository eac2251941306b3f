"""Sound, and what hears and speaks, scripted by the test."""

from __future__ import annotations

import io
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from quizglass.session import OutputProfile, Playing, SpeechAudio, SpeechEnd, SpeechStart
from quizglass_server.domain.sound import Sound, SoundFormat, Transcript
from quizglass_server.roles.speech import HEARING, VOICE
from tests.support.gate import Gate
from tests.support.rpc_fakes import Stage, serve_stage

ALOUD = OutputProfile(aloud=True)
RATE_HZ = 16_000
LOUD = 8_000
VOWELS = (300, 2_300, 3_000), (700, 1_200, 2_500), (400, 800, 2_400), (500, 1_800, 2_500)
"""Formants in Hz."""
CANARY = b"\x5a\x11\x5a\x11\x5a\x11\x5a\x11"
"""Samples that are in no other sound."""


def tone(seconds: float, *, rate_hz: int = RATE_HZ, channels: int = 1, hertz: float = 220) -> bytes:
    """Sound that counts as a voice."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    samples = (LOUD * np.sin(2 * np.pi * hertz * at)).astype("<i2")
    return np.repeat(samples, channels).tobytes()


def vowels(seconds: float) -> bytes:
    """Sound that Silero's detector takes for a voice: pulses through the formants of vowels, five of them a second."""
    at = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    pulses = np.diff(np.floor(np.cumsum(140 + 21 * np.sin(2 * np.pi * 0.7 * at)) / RATE_HZ), prepend=0.0)
    hertz, window, sound = np.fft.rfftfreq(1024, 1 / RATE_HZ), np.hanning(480), np.zeros(len(pulses))
    for begin in range(0, len(pulses) - 480, 160):
        vowel, share = divmod(begin / RATE_HZ * 5, 1)
        this, after = (np.array(VOWELS[int(each) % len(VOWELS)]) for each in (vowel, vowel + 1))
        formants = this + (after - this) * max(0.0, 2 * share - 1)
        spectrum = 1 / np.sqrt(1 + (hertz / 500) ** 2)
        for place, width in zip(formants, (70, 90, 130), strict=True):
            spectrum = spectrum * place**2 / (place**2 - hertz**2 + 1j * hertz * width)
        piece = np.fft.irfft(np.fft.rfft(pulses[begin:][:480] * window, 1024) * spectrum)[:480]
        sound[begin : begin + 480] += piece * (0.15 + 0.85 * min(1.0, 1.5 * np.sin(np.pi * share)))
    return (sound / np.abs(sound).max() * LOUD).astype("<i2").tobytes()


def babble(seconds: float, seed: int) -> Any:
    """Samples of a sound that comes and goes, and has the spectrum of speech."""
    draw = np.random.default_rng(seed)
    noise = draw.normal(size=round(seconds * RATE_HZ))
    spectrum = np.fft.rfft(noise) / (1 + (np.fft.rfftfreq(len(noise), 1 / RATE_HZ) / 800) ** 2)
    sound = np.fft.irfft(spectrum, len(noise))
    sound *= 0.55 + 0.45 * np.sin(2 * np.pi * (3 + seed % 2) * np.arange(len(noise)) / RATE_HZ)
    return sound / np.abs(sound).max() * 12_000


def silence(seconds: float, *, rate_hz: int = RATE_HZ) -> bytes:
    return bytes(2 * round(seconds * rate_hz))


def wav(sound: bytes, *, rate_hz: int = RATE_HZ, channels: int = 1, width: int = 2) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate_hz)
        file.writeframes(sound)
    return out.getvalue()


def spoken(
    id: str, sound: bytes, *, piece: int = 3200, playing: Playing | None = None, **start: Any
) -> list[SpeechStart | SpeechAudio | SpeechEnd]:
    """All messages of a spoken question."""
    audio = pieces(id, sound, piece=piece, playing=playing)
    end = [] if start.get("ends_by_silence") else [SpeechEnd(id, len(audio))]
    return [SpeechStart(id, **start), *audio, *end]


def pieces(id: str, sound: bytes, *, piece: int = 3200, playing: Playing | None = None) -> list[SpeechAudio]:
    parts = [sound[at : at + piece] for at in range(0, len(sound), piece)]
    return [SpeechAudio(id, seq, part, playing) for seq, part in enumerate(parts)]


class LoudnessDetector:
    """Takes for a voice what is loud."""

    window_bytes = 1024

    def probability(self, window: bytes) -> float:
        samples = np.frombuffer(window, "<i2").astype(float)
        return 1.0 if np.sqrt((samples**2).mean()) > 500 else 0.0


@dataclass
class Hearing:
    """Gives these transcripts, in this order; "" hears nothing."""

    texts: list[str] = field(default_factory=lambda: ["What is this?"])
    ready: bool = True
    language: str = "en"
    heard: list[bytes] = field(default_factory=list)
    """The sound of each speech."""
    formats: list[SoundFormat] = field(default_factory=list)
    partly: list[str] = field(default_factory=list)
    gate: Gate | None = None
    """Waits there before it understands."""
    failure: Exception | None = None

    async def transcribe(
        self, sound: AsyncIterator[bytes], format: SoundFormat, language: str = ""
    ) -> AsyncGenerator[Transcript, None]:
        self.formats.append(format)
        self.heard.append(b"")
        at = len(self.heard) - 1
        async for piece in sound:
            self.heard[at] += piece
        for text in self.partly:
            yield Transcript(text, False)
        if self.gate is not None:
            await self.gate()
        if self.failure is not None:
            raise self.failure
        yield Transcript(self.texts[min(at, len(self.texts) - 1)], True, self.language, 0.75)


@dataclass
class Voice:
    """Says a tenth of a second for each character."""

    ready: bool = True
    rate_hz: int = 22_050
    texts: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    gate: Gate | None = None
    """Waits there before the second text."""
    failure: Exception | None = None
    tail: bytes = b""
    """Comes at the end of every text."""
    sound: Callable[[float], bytes] | None = None
    """Makes so many seconds of its sound."""

    async def speak(self, texts: AsyncIterator[str], language: str = "", name: str = "") -> AsyncGenerator[Sound, None]:
        self.languages.append(language)
        number = 0
        async for text in texts:
            self.texts.append(text)
            if self.failure is not None:
                raise self.failure
            if number and self.gate is not None:
                await self.gate()
            seconds = len(text) / 10
            made = tone(seconds, rate_hz=self.rate_hz) if self.sound is None else self.sound(seconds)
            samples = made + self.tail
            for at in range(0, len(samples), 8000):
                yield Sound(samples[at : at + 8000], SoundFormat(self.rate_hz), number)
            number += 1


class SpeechStage(Stage):
    """A server that hears and speaks."""

    def __init__(
        self,
        folder: Path,
        *,
        detector: Callable[[], Any] = LoudnessDetector,
        elsewhere: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        super().__init__(folder, **settings)
        self.hearing, self.voice = Hearing(), Voice()
        self.models[HEARING], self.models[VOICE] = self.hearing, self.voice
        self.models.elsewhere = elsewhere
        self.services = replace(self.services, detector=detector)


@asynccontextmanager
async def hearing_and_speaking(folder: Path, **settings: Any) -> AsyncIterator[SpeechStage]:
    async with serve_stage(SpeechStage(folder, **settings)) as stage:
        yield stage
