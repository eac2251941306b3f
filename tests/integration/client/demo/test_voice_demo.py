"""`make voice`, as a process of its own, where its packages have been fetched."""

import subprocess
import sys
import wave
from pathlib import Path

import pytest

FETCHED = Path("work/demo")
"""Where `make voice` keeps its packages."""


def test_three_questions_are_heard_answered_and_spoken(tmp_path: Path) -> None:
    if not (FETCHED / "speech" / "env" / ".installed").is_file():
        pytest.skip(f"no recogniser is in {FETCHED}; `make voice` fetches it")
    command = [sys.executable, "-m", "clients.demo.voice", "--workdir", str(FETCHED), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("chelsea", "flower", "rocket"):
        for side in ("question", "answer"):
            with wave.open(str(tmp_path / f"{name}-{side}.wav")) as sound:
                assert sound.getnframes() > sound.getframerate() // 2
