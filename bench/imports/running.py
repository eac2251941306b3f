"""Runs the command that imports, in a process of its own, and says what became of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any

from bench.hostile.stage import MemoryWatch

_MEASURED = Path(__file__).with_name("measured.py")
_KILLED_S = 90.0
_MEMORY = 3 << 30  # so that no input takes the machine; the bar is far below
_STATUSES = (0, 1, 2)
"""Of an import that ended as it should; 3 says that the server is gone."""


@dataclass(frozen=True)
class Ran:
    """What one import did."""

    status: int
    seconds: float
    peak_mib: float
    """Of the command and what it started, together."""
    errors: str
    """What it wrote to its standard error."""
    report: dict[str, Any] = field(default_factory=dict)
    """Empty where it ended before there was one."""

    @property
    def crash(self) -> str:
        """How it ended otherwise than with a report or a message; empty: it did not."""
        if self.status not in _STATUSES:
            return f"status {self.status}: {self.errors[-300:]}"
        if "Traceback (most recent call last)" in self.errors or self.errors.startswith("usage:"):
            return self.errors[-300:]
        return "" if self.report or self.errors.strip() else "no report and no message"


def run_import(target: str, path: Path) -> Ran:
    """Import what a path holds into the server at `target`."""
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", target]
    command += ["knowledge", "import", str(path), "--json", "--no-compare"]
    with TemporaryFile() as out, TemporaryFile() as err, TemporaryFile() as told:
        began = perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-S", str(_MEASURED), str(told.fileno()), str(_MEMORY), *command],
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            pass_fds=(told.fileno(),),
            start_new_session=True,
        )
        watch = MemoryWatch(process.pid)
        timer = threading.Timer(_KILLED_S, _kill, [process.pid])
        timer.start()
        try:
            process.wait()
        except BaseException:  # interrupted: what was started ends too
            _kill(process.pid)
            raise
        finally:
            timer.cancel()
        seconds = perf_counter() - began
        written, errors, ended = (_content(file) for file in (out, err, told))
    status, peak_kib = (int(number) for number in (ended or f"{-signal.SIGKILL} 0").split())
    peak = max(watch.end(), peak_kib / 1024)
    try:
        report = json.loads(written)
    except ValueError:
        report = {}
    return Ran(status, seconds, peak, errors, report)


def _content(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace"))


def _kill(group: int) -> None:
    """End a command and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
