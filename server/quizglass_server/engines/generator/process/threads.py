"""How many threads llama-server computes with.

Chosen once for a machine and a model, by a short comparison of all cores with half of them (two threads on one core may
hinder each other), and kept. Threads of one step wait for the slowest, so beside a program that keeps a core busy for
minutes one fewer is sooner done.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic

from quizglass_server.engines.generator.checks.machine import cpu_name
from quizglass_server.engines.generator.process.options import Patience, ProcessOptions
from quizglass_server.engines.generator.process.programs import Program

_CLEARLY = 1.1
"""Half of the cores are taken when all of them take so many times as long."""
_STAT = Path("/proc/stat")
_IDLE = (3, 4)
"""Columns of /proc/stat in which a core does nothing; the last two are counted elsewhere too."""
_COLUMNS = 8
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
        self.beside_others = False
        """Whether other programs keep a core busy."""

    @property
    def chosen(self) -> bool:
        """Whether it is a choice, and not the operator's number or the only possible one."""
        return not self._options.threads and self._options.cores > 1

    @property
    def now(self) -> int:
        """Threads of a process that is started now."""
        return max(1, self._most - 1) if self.chosen and self.beside_others else self._most

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


class Neighbours:
    """Whether other programs have kept a core busy for long enough to count.

    Args:
        patience: how long that is.
        busy: whether they were before.
    """

    def __init__(self, patience: Patience, *, busy: bool = False) -> None:
        self._patience = patience
        self._since: float | None = None
        self.busy = busy

    def seen(self, cores: float, now: float) -> None:
        """Others have used so many cores since the last look.

        Args:
            cores: 0 or more.
            now: monotonic clock in seconds.
        """
        patience = self._patience
        differs = cores < patience.idle_cores if self.busy else cores > patience.busy_cores
        if not differs:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= patience.steady_s:
            self.busy, self._since = not self.busy, None


class OthersLoad:
    """How much other programs have used of this process's cores, from one look to the next."""

    def __init__(self, own_cores: int) -> None:
        """Args:
        own_cores: that this process may use; where a quota leaves it fewer than it can run on, nothing is known.
        """
        self._cores = os.sched_getaffinity(0)
        self._known = len(self._cores) == own_cores
        self._before: tuple[float, float, float] | None = None

    def cores(self, own_s: float) -> float:
        """Cores that others have used since the last call; 0 where that is not known.

        Args:
            own_s: processor seconds that the server and its generator have had since they began.
        """
        if not self._known:
            return 0.0
        now, busy_s, before = monotonic(), _busy_s(self._cores), self._before
        self._before = (now, busy_s, own_s)
        if before is None or now <= before[0]:
            return 0.0
        return max(0.0, (busy_s - before[1]) - (own_s - before[2])) / (now - before[0])


def _busy_s(cores: Collection[int]) -> float:
    """Processor seconds in which these cores had something to do; 0 where the system does not say."""
    wanted = {f"cpu{core}" for core in cores}
    ticks = 0
    with suppress(OSError, ValueError):
        for line in _STAT.read_text().splitlines():
            name, *columns = line.split()
            if name in wanted:
                ticks += sum(int(each) for place, each in enumerate(columns[:_COLUMNS]) if place not in _IDLE)
    return ticks / os.sysconf("SC_CLK_TCK")
