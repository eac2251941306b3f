"""Starts one generator process and ends it. Knows nothing of restarting, prompts or turns."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from quizglass_server.descriptors import Reserve
from quizglass_server.engines.llama.link.log_lines import relay_all
from quizglass_server.engines.llama.native.options import LoadOptions
from quizglass_server.engines.llama.process.breaker import BreakerOptions
from quizglass_server.engines.llama.process.client import GeneratorClient
from quizglass_server.engines.llama.process.heartbeat import HeartbeatOptions
from quizglass_server.engines.llama.process.machine import machine
from quizglass_server.engines.llama.process.spawn import DESCRIPTORS, Child, spawn
from quizglass_server.errors import BundleError, EngineFailed

# -P: the working directory is no place to import from.
_PROGRAM = (sys.executable, "-P", "-m", "quizglass_server.engines.llama.child.main")
_OPENMP = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "20000"}
"""Threads that spun between steps would take cores from ONNX Runtime; ones that never spin lose a third of each step to
being woken at its hundreds of barriers. So they spin for some microseconds (GNU's runtime; others go by the policy)."""
_FAULTS = frozenset({signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT, signal.SIGTRAP})
"""Signals by which a process ends that runs instructions which this CPU does not have, or which compute nonsense."""
_REMEDY = 'install a llama.cpp for every CPU, see docs/operations.md, "When the generator does not suit the CPU"'
logger = logging.getLogger(__name__)


class CpuFault(EngineFailed):
    """The process died of a signal that tells of wrong code for this CPU, or computed nonsense, while it loaded."""


@dataclass(frozen=True)
class ProcessOptions(LoadOptions):
    """What the generator process loads and how long its users wait."""

    stop: tuple[str, ...] = ()
    """Texts that end an answer."""
    load_timeout_s: float = 300.0
    restart_wait_s: float = 10.0
    """How long a request waits for a process that is being restarted."""
    save_wait_s: float = 5.0
    close_wait_s: float = 2.0
    keep: bool = False
    """Whether kept prefixes will be saved; the supervisor knows."""
    program: tuple[str, ...] = _PROGRAM
    """What is started; arguments follow."""
    heartbeat: HeartbeatOptions = field(default_factory=HeartbeatOptions)
    breaker: BreakerOptions = field(default_factory=BreakerOptions)

    def command(self, link: int, restore: Path | None) -> list[str]:
        """Command line of a child that has its end of the connection as descriptor `link`."""
        # The system tells a child of the end of the thread that started it: only the main one ends with the process.
        parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        return [
            *self.program,
            f"--link={link}",
            f"--parent={parent}",
            f"--load={self.as_json()}",
            *(f"--stop={text}" for text in self.stop),
            *(("--keep",) if self.keep else ()),
            *(() if restore is None else (f"--restore={restore}",)),
            f"--log-level={logging.getLogger('quizglass_server').getEffectiveLevel()}",
        ]


@dataclass(slots=True)
class Life:
    """One generator process from its start to its end, with the connection to it."""

    process: Child
    client: GeneratorClient
    log: asyncio.Task[None]
    description: str
    executor: str
    fate: str = ""
    """Why it was ended, where that is known better than from its exit status."""

    def kill(self) -> None:
        """End it now."""
        self.process.kill()

    async def end(self, wait_s: float) -> None:
        """Ask it to end, wait up to `wait_s` seconds, then kill it."""
        self.process.close_input()
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self.process.wait()
        self.client.lose()
        self.kill()
        await self.bury()

    async def bury(self) -> None:
        """Wait for its end and free what it held."""
        await self.process.wait()
        self.client.lose()
        await self.log
        self.process.close()

    def how(self) -> str:
        """How it ended, in words."""
        return self.fate or exit_words(self.process.returncode)


class Launcher:
    """Starts processes, from the first that does not suit the CPU on without llama.cpp's extra buffers.

    With extra buffers llama.cpp keeps weights in the order in which the fastest instructions of a CPU want them, AMX
    among them. That is the code which compilers and CPUs disagree about; without it, it is slower and runs everywhere.
    """

    def __init__(self, options: ProcessOptions) -> None:
        self._options = options
        self._reserve = Reserve(DESCRIPTORS)
        self._extra_buffers = True
        self.notice = ""
        """Why it is slower than it could be, and what to do; empty when it is not."""

    async def launch(self, on_lost: Callable[[], None], restore: Path | None = None) -> Life:
        """Start a process and wait until it serves; leaves none behind on failure.

        Args:
            on_lost: called once when the process is known to be gone or cannot be reached.
            restore: directory of kept prefixes.

        Raises:
            BundleError: a model file cannot be loaded.
            EngineFailed: the process died or did not answer while loading, or computes nonsense.
            OSError: it cannot be started.
        """
        try:
            return await self._launch(on_lost, restore)
        except CpuFault as fault:
            # What was restored may be to blame as well; whoever gave it tries again without.
            if restore is not None:
                raise
            if not self._extra_buffers:
                raise EngineFailed(f"{fault.message}, without extra buffers. {machine()}; {_REMEDY}") from None
            logger.error("%s; it is started again without llama.cpp's extra buffers", fault.message)
            return await self._without_extra_buffers(fault, on_lost)

    async def _without_extra_buffers(self, fault: CpuFault, on_lost: Callable[[], None]) -> Life:
        self._extra_buffers = False
        try:
            life = await self._launch(on_lost, None)
        except CpuFault as again:
            self._extra_buffers = True
            raise EngineFailed(
                f"{fault.message}; and again without extra buffers: {again.message}. {machine()}; {_REMEDY}"
            ) from None
        except BaseException:
            self._extra_buffers = True
            raise
        self._tell_of(fault.message)
        return life

    def died(self, status: int | None) -> None:
        """A process that served has died: after an illegal instruction the next one goes without extra buffers."""
        if status == -signal.SIGILL and self._extra_buffers:
            self._extra_buffers = False
            self._tell_of(f"the generator process died while it served ({exit_words(status)})")

    def _tell_of(self, fault: str) -> None:
        self.notice = (
            "runs without the CPU's fastest code for matrices (llama.cpp's extra buffers), because with it "
            f"{fault}: prompts are read more slowly, with Q4_0 weights half as long again; {_REMEDY}"
        )
        logger.warning("the generator %s. %s", self.notice, machine())

    async def _launch(self, on_lost: Callable[[], None], restore: Path | None) -> Life:
        options = replace(self._options, extra_buffers=self._extra_buffers)
        with self._reserve.spent():
            process = await spawn(lambda link: options.command(link, restore), {**_OPENMP, **os.environ})
        log = asyncio.create_task(relay_all(process.errors, logger), name="generator log")
        client = GeneratorClient(on_lost)
        try:
            report = await self._report(process)
            await client.connect(process.link)
        except BaseException:
            process.kill()
            await process.wait()
            await log
            process.close()
            raise
        description, executor = report.get("description", ""), report.get("executor", "cpu")
        logger.info("generator process %d serves %s", process.pid, description)
        return Life(process, client, log, description, executor)

    def close(self) -> None:
        """Give the reserve of descriptors up."""
        self._reserve.empty()

    async def _report(self, process: Child) -> dict[str, str]:
        """The child's own line: description and executor, or why it cannot serve."""
        name = self._options.model.name
        try:
            async with asyncio.timeout(self._options.load_timeout_s):
                line = await process.output.readline()
                if not line:
                    await process.wait()
        except TimeoutError:
            raise EngineFailed(f"{name}: not loaded after {self._options.load_timeout_s:.0f} s") from None
        if not line:
            how = exit_words(process.returncode)
            kind = CpuFault if -(process.returncode or 0) in _FAULTS else EngineFailed
            raise kind(f"{name}: the generator process died while loading it ({how}); see the log")
        report = _parse_report(line)
        if (nonsense := report.get("nonsense")) is not None:
            raise CpuFault(f"{name}: the generator process computed nonsense: {nonsense}")
        if (reason := report.get("failed")) is not None:
            raise BundleError(reason)
        return report


def exit_words(status: int | None) -> str:
    """An exit status in words."""
    if status is None or status >= 0:
        return f"exit status {status}"
    name = signal.strsignal(-status)
    return f"signal {-status}" + (f": {name}" if name else "")


def _parse_report(line: bytes) -> dict[str, str]:
    """The child's line of JSON, an object of strings."""
    try:
        return {str(key): str(value) for key, value in json.loads(line).items()}
    except (ValueError, AttributeError):
        raise EngineFailed("the generator process did not speak its protocol; reinstall the server") from None
