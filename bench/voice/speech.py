"""Speech whose words are known: two synthetic voices at three speeds, alone or with noise, and how words are compared.

Piper speaks in a process of the demo's own environment; flite (Debian's `flite`), where it is installed, is the second
voice. What was spoken once is kept beside the benchmark's other files.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from quizglass_export.everyday.speech import VOICE

RATE = 16_000
SPEEDS = (0.85, 1.0, 1.2)
"""How long a word takes, of its usual time."""
SENTENCES = (
    "How often does the cat in this picture get her food?",
    "When do I have to water the flower on my balcony?",
    "May I repair this old brick wall with fresh cement?",
    "How tall is the rocket that stands behind the fence?",
    "What are the coins in this small wooden box made of?",
    "When does the paper bin in front of our house go out?",
    "Which of these two bottles has been open for longer?",
    "Where did I put the keys when I came home yesterday?",
    "Is there any milk left on the lower shelf of the fridge?",
    "Who painted the large picture that hangs over the door?",
    "How much does the blue jacket in this window cost?",
    "Does this train stop in the town where my sister lives?",
    "What is written on the sign next to the green gate?",
    "How long do I have to cook the pasta in this packet?",
    "Can I park the car here on a Sunday afternoon?",
    "What is the name of the bird on that wet branch?",
    "Which button do I press to make the display brighter?",
    "How many people can sit around this round table?",
    "Was the letter from the bank already in this folder?",
    "What should I do with the leaves of this tall plant?",
)
"""Questions of about three seconds."""
_SPEAKER = """
import json, sys, wave
from piper import PiperVoice, SynthesisConfig
voice = PiperVoice.load(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    with wave.open(asked["to"], "wb") as file:
        voice.synthesize_wav(asked["text"], file, SynthesisConfig(length_scale=asked["speed"]))
"""
_NO_WORD = re.compile(r"[^\w']+")
Samples = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence, spoken."""

    text: str
    voice: str
    speed: float
    samples: Samples
    """-1 to 1, 16,000 a second."""

    @property
    def seconds(self) -> float:
        """How long it is."""
        return len(self.samples) / RATE

    def wav(self) -> bytes:
        """It as a file."""
        return wav_of(self.samples)


def utterances(demo: Path, folder: Path, texts: Sequence[str], speeds: Sequence[float] = SPEEDS) -> list[Utterance]:
    """Texts by every voice and speed.

    Args:
        demo: work directory of `make voice`.
        folder: where sound is kept.
        texts: what is said.
        speeds: of each voice.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(text, voice, speed) for voice in _voices() for speed in speeds for text in texts]
    missing = [each for each in wanted if not _file(folder, *each).is_file()]
    _by_piper(
        demo, [(text, speed, _file(folder, text, voice, speed)) for text, voice, speed in missing if voice == "piper"]
    )
    for text, voice, speed in missing:
        if voice == "flite":
            stretch = ["--setf", f"duration_stretch={speed}"]
            command = ["flite", "-voice", "slt", *stretch, "-t", text, "-o", str(_file(folder, text, voice, speed))]
            subprocess.run(command, check=True, capture_output=True)
    return [Utterance(*each, _read(_file(folder, *each))) for each in wanted]


def _voices() -> tuple[str, ...]:
    return ("piper", "flite") if shutil.which("flite") else ("piper",)


def _file(folder: Path, text: str, voice: str, speed: float) -> Path:
    return folder / f"{voice}-{speed}-{sha256(text.encode()).hexdigest()[:16]}.wav"


def _by_piper(demo: Path, wanted: Sequence[tuple[str, float, Path]]) -> None:
    if not wanted:
        return
    lines = "".join(json.dumps({"text": text, "speed": speed, "to": str(to)}) + "\n" for text, speed, to in wanted)
    python, model = demo / "speech/env/bin/python", demo / f"speech/voices/{VOICE}.onnx"
    subprocess.run([str(python), "-c", _SPEAKER, str(model)], input=lines, text=True, check=True, capture_output=True)


def _read(path: Path) -> Samples:
    with wave.open(str(path)) as file:
        rate, samples = file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), "<i2")
    resampled: Samples = soxr.resample(samples.astype(np.float64) / 32768, rate, RATE)
    return resampled


def wav_of(samples: Samples) -> bytes:
    """Samples as a file of 16 bits."""
    file = BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, 2, RATE, 0, "NONE", ""))
        written.writeframes(pcm_of(samples))
    return file.getvalue()


def pcm_of(samples: Samples) -> bytes:
    """Samples as 16-bit PCM."""
    return np.rint(np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()


def with_noise(utterance: Utterance, noise: Samples, decibels: float) -> bytes:
    """An utterance as a file, louder than noise by so much."""
    speech = utterance.samples
    piece = np.resize(noise, len(speech))
    power, other = float(np.mean(speech**2)), float(np.mean(piece**2)) or 1.0
    mixed = speech + piece * np.sqrt(power / other / 10 ** (decibels / 10))
    return wav_of(mixed / max(1.0, float(np.abs(mixed).max())))


def white(seconds: float, seed: int) -> Samples:
    """Noise of all frequencies."""
    noise: Samples = np.random.default_rng(seed).standard_normal(round(seconds * RATE))
    return noise


def babble(others: Sequence[Utterance], seconds: float) -> Samples:
    """Many who speak at once."""
    length = round(seconds * RATE)
    mixed = np.zeros(length)
    for at, other in enumerate(others):
        mixed += np.roll(np.resize(other.samples, length), at * RATE // 3)
    return mixed


def word_errors(said: str, heard: str) -> tuple[int, int]:
    """Words that were wrong, left out or put in, and words that were said."""
    ours, theirs = _words(said), _words(heard)
    row = list(range(len(theirs) + 1))
    for at, word in enumerate(ours, 1):
        before, row[0] = row[0], at
        for other in range(1, len(theirs) + 1):
            changed = before + (word != theirs[other - 1])
            before = row[other]
            row[other] = min(changed, row[other] + 1, row[other - 1] + 1)
    return row[-1], len(ours)


def _words(text: str) -> list[str]:
    return _NO_WORD.sub(" ", text.casefold()).split()


def sampled(utterances: Sequence[Utterance], count: int) -> list[Utterance]:
    """So many, of every voice and speed alike."""
    step: Any = max(1, len(utterances) // count)
    return list(utterances[::step])[:count]
