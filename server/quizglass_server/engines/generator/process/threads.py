"""How many threads llama-server computes with.

Chosen once for a machine and a model, by a short comparison of all cores with half of them (two threads on one core may
hinder each other), and kept.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from quizglass_server.engines.generator.checks.machine import cpu_name
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.programs import Program

_CLEARLY = 1.1
"""Half of the cores are taken when all of them take so many times as long."""
logger = logging.getLogger(__name__)


class ThreadChoice:
    """The number of threads of the next process.

    Args:
        options: of the process; `threads` of 0 lets it choose among `cores`.
        folder: where choices are kept; made when it does not exist.
    """

    def __init__(self, options: ProcessOptions, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._most = options.threads or options.cores
        self._key = ""

    @property
    def chosen(self) -> bool:
        """Whether it is a choice, and not the operator's number or the only possible one."""
        return not self._options.threads and self._options.cores > 1

    @property
    def now(self) -> int:
        """Threads of a process that is started now."""
        return self._most

    def to_compare(self, program: Program) -> tuple[int, ...]:
        """Numbers to be compared, the fewer first; none where that is settled.

        Args:
            program: the llama-server that is started.
        """
        if not self.chosen or self._key:
            return ()
        self._key = self._machine_and_model(program)
        with suppress(OSError, ValueError, TypeError, KeyError):
            kept = int(json.loads(self._file.read_text(encoding="utf-8"))["threads"])
            if 1 <= kept <= self._options.cores:
                self._most = kept
                return ()
        return self._options.cores // 2, self._options.cores

    def learn(self, seconds: Mapping[int, float]) -> None:
        """Take the number that answers soonest, and keep it.

        Args:
            seconds: that each number took; a model that is too large to be compared in time has all cores.
        """
        fewer, most = self._options.cores // 2, self._options.cores
        clearly = fewer in seconds and seconds.get(most, 0.0) > _CLEARLY * seconds[fewer]
        self._most = fewer if clearly else most
        told = {str(threads): round(each, 3) for threads, each in seconds.items()}
        logger.info("the generator computes with %d threads; seconds by threads: %s", self._most, told)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = self._file.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps({"threads": self._most, "seconds": told}), encoding="utf-8")
            unfinished.replace(self._file)

    @property
    def _file(self) -> Path:
        return self._folder / f"threads-{self._key}.json"

    def _machine_and_model(self, program: Program) -> str:
        """What the choice depends on, as hexadecimal digits."""
        about = [cpu_name(), str(self._options.cores), str(program)]
        for file in (self._options.model, Path(program.command[-1])):
            with suppress(OSError):
                stat = file.stat()
                about += [file.name, str(stat.st_size), str(stat.st_mtime_ns)]
        return sha256("\n".join(about).encode()).hexdigest()[:16]


def kept_in() -> Path:
    """Where choices are kept, of this user."""
    home = os.environ.get("HOME") or "/nonexistent"  # as of a user that the system does not know
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(home, ".cache")) / "quizglass"
