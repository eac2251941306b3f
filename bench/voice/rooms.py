"""A device in a drawn room, which plays an answer, pauses it when it is asked to, and hears its echo and the wearer."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from bench.voice.speech import RATE
from quizglass.session import Playing
from quizglass_server.domain.sound import Sound, SoundFormat
from quizglass_server.session.voice.barge_in import NOTHING, BargeIn
from quizglass_server.session.voice.echo import EchoCanceller, PlayedSound
from quizglass_server.session.voice.endpoint import Endpointer, SileroDetector

PIECE = 512
"""Samples that a microphone gives at once: 32 ms."""
LINK_S = 0.06
"""From the server's word to a quiet loudspeaker: a link of 20 ms one way, and 40 ms in the device."""
_LOUDEST = 20_000.0
"""Beyond which the loudspeaker distorts."""
_NOISE = 20.0
_REFLECTIONS, _ROOM_S, _FADES_S = 60, 0.12, 0.03
_ONSET = 0.05
"""Share of the largest sample from which the wearer is heard."""
Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Room:
    """How the microphone hears the loudspeaker."""

    echo: Samples
    delay: int
    """Samples until the echo begins."""
    draw: np.random.Generator

    def heard(self, played: Samples) -> Samples:
        """The echo of a sound, without its delay."""
        return np.convolve(played, self.echo)


def drawn_room(seed: int) -> Room:
    """A loudspeaker 4 to 16 dB quieter at the microphone, up to 0.3 s late, with reflections over 0.12 s."""
    draw = np.random.default_rng(seed)
    echo = np.zeros(round(_ROOM_S * RATE))
    echo[0] = 1.0
    at = draw.integers(10, len(echo), _REFLECTIONS)
    echo[at] += 0.35 * draw.normal(size=_REFLECTIONS) * np.exp(-at / (RATE * _FADES_S))
    return Room(echo * draw.uniform(0.15, 0.6), round(draw.uniform(0.0, 0.3) * RATE), draw)


@dataclass(frozen=True)
class Wearer:
    """What is said over the answer."""

    samples: Samples
    begins: int
    """Sample of the microphone at which it does."""

    @property
    def onset(self) -> int:
        """Sample from which it is heard."""
        loud = np.abs(self.samples) > _ONSET * np.abs(self.samples).max()
        return self.begins + int(loud.argmax())

    def within(self, begin: int, end: int) -> Samples:
        """Its part of a piece."""
        part = np.zeros(end - begin)
        low, high = max(begin, self.begins), min(end, self.begins + len(self.samples))
        if low < high:
            part[low - begin : high - begin] = self.samples[low - self.begins : high - self.begins]
        return part


@dataclass
class Heard:
    """What the server made of it, in samples of the microphone."""

    pauses: list[int] = field(default_factory=list)
    """When it had the answer paused."""
    resumes: list[int] = field(default_factory=list)
    """When it had it played on."""
    voice: int | None = None
    """When it took a word for the wearer's."""
    took_s: list[float] = field(default_factory=list)
    """Seconds of the processor for each piece."""
    length: int = 0

    def paused(self, at: int) -> bool:
        """Whether the answer was paused then."""
        return sum(pause <= at for pause in self.pauses) > sum(resume <= at for resume in self.resumes)


class _Device:
    """Plays an answer, and hears."""

    def __init__(self, answer: Samples, room: Room, wearer: Wearer | None) -> None:
        self._answer, self._room, self._wearer = answer, room, wearer
        self._played = 0
        self._said = deque[tuple[int, bool]]()
        self._coming = np.zeros(room.delay + PIECE + len(room.echo))
        """Echo of what was played, from the next sample of the microphone on."""
        self.at = 0
        self.paused = False

    @property
    def over(self) -> bool:
        """Whether all was played and said."""
        last = 0 if self._wearer is None else self._wearer.begins + len(self._wearer.samples)
        return self._played >= len(self._answer) and self.at >= last

    def told(self, *, pause: bool) -> None:
        """The server says so now; it is heard after the link."""
        self._said.append((self.at + round(LINK_S * RATE), pause))

    def piece(self) -> tuple[bytes, Playing | None]:
        """The next piece from the microphone, and what is played meanwhile."""
        while self._said and self._said[0][0] <= self.at:
            self.paused = self._said.popleft()[1]
        playing = None
        if self._played < len(self._answer):
            playing = Playing("a", self._played / RATE, self.paused)
        if playing is not None and not self.paused:
            echo = self._room.heard(self._answer[self._played : self._played + PIECE])
            self._coming[self._room.delay : self._room.delay + len(echo)] += echo
            self._played += PIECE
        heard = np.tanh(self._coming[:PIECE] / _LOUDEST) * _LOUDEST + self._room.draw.normal(size=PIECE) * _NOISE
        self._coming = np.concatenate([self._coming[PIECE:], np.zeros(PIECE)])
        if self._wearer is not None:
            heard += self._wearer.within(self.at, self.at + PIECE)
        self.at += PIECE
        return np.clip(heard, -32_768, 32_767).astype("<i2").tobytes(), playing


def listened(answer: Samples, room: Room, wearer: Wearer | None = None) -> Heard:
    """Play an answer beside an open microphone, until its end or the wearer's first word.

    Args:
        answer: 16,000 samples a second, as integers of 16 bits.
        room: drawn anew: its noise is used up.
        wearer: who speaks over it; None: it is alone.
    """
    played = PlayedSound()
    played.add("a", Sound(answer.astype("<i2").tobytes(), SoundFormat(), 0), keep=True)
    canceller, endpoint = EchoCanceller(played), Endpointer(SileroDetector(), BargeIn(pauses=True))
    device, heard, pausing = _Device(answer, room, wearer), Heard(), False
    while not device.over and heard.voice is None:
        sound, playing = device.piece()
        began = thread_time()
        beside = NOTHING
        if playing is not None:
            sound = canceller.take(sound, playing)
            beside = canceller.beside
        endpoint.take(sound, beside)
        heard.took_s.append(thread_time() - began)
        if endpoint.spoke:
            heard.voice = device.at
        elif endpoint.pausing is not pausing:
            pausing = endpoint.pausing
            device.told(pause=pausing)
            (heard.pauses if pausing else heard.resumes).append(device.at)
    heard.length = device.at
    return heard
