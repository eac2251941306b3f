"""Starts one generator process and ends it. Knows nothing of restarting, prompts or turns."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from quizglass_server.engines.llama.breaker import BreakerOptions
from quizglass_server.engines.llama.client import GeneratorClient
from quizglass_server.engines.llama.heartbeat import HeartbeatOptions
from quizglass_server.engines.llama.relay import relay_all
from quizglass_server.errors import BundleError, EngineFailed

_MAX_SOCKET_PATH = 100
_LINE_BYTES = 1 << 20
_OPENMP = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "20000"}
"""Threads that spun between steps would take cores from ONNX Runtime; ones that never spin lose a third of each step to
being woken at its hundreds of barriers. So they spin for some microseconds (GNU's runtime; others go by the policy)."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """What the generator process loads and how long its users wait."""

    model: Path
    projector: Path | None
    """None: the model reads no pictures, and `width` and `height` mean nothing."""
    width: int
    height: int
    context: int
    stop: tuple[str, ...] = ()
    sequences: int = 4
    threads: int = 1
    batch: int = 8
    """Most answers written together."""
    cells: int = 0
    """Of the KV cache; 0 lets the engine choose."""
    queue: int = 64
    """Most requests that wait."""
    vision_threads: int = 1
    load_timeout_s: float = 300.0
    restart_wait_s: float = 10.0
    """How long a request waits for a process that is being restarted."""
    save_wait_s: float = 5.0
    close_wait_s: float = 2.0
    keep: bool = False
    """Whether kept prefixes will be saved; the supervisor knows."""
    heartbeat: HeartbeatOptions = field(default_factory=HeartbeatOptions)
    breaker: BreakerOptions = field(default_factory=BreakerOptions)

    def arguments(self, socket: Path, restore: Path | None) -> list[str]:
        """Command line of the child, without the interpreter."""
        numbers = {"width": self.width, "height": self.height, "context": self.context}
        numbers |= {"sequences": self.sequences, "threads": self.threads, "vision-threads": self.vision_threads}
        numbers |= {"batch": self.batch, "cells": self.cells, "queue": self.queue}
        return [
            f"--socket={socket}",
            f"--model={self.model}",
            *(() if self.projector is None else (f"--projector={self.projector}",)),
            *(f"--{name}={value}" for name, value in numbers.items()),
            *(f"--stop={text}" for text in self.stop),
            *(("--keep",) if self.keep else ()),
            *(() if restore is None else (f"--restore={restore}",)),
            f"--log-level={logging.getLogger('quizglass_server').getEffectiveLevel()}",
        ]


@dataclass(slots=True)
class Life:
    """One process with the connection to it."""

    process: Process
    client: GeneratorClient
    log: asyncio.Task[None]
    description: str
    executor: str
    fate: str = ""
    """Why it was ended, where that is known better than from its exit status."""

    def kill(self) -> None:
        """End it now."""
        # Process.kill would look for the exit status itself, and lose it to whoever waits for it.
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)

    async def end(self, wait_s: float) -> None:
        """Ask it to end, wait up to `wait_s` seconds, then kill it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
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

    def how(self) -> str:
        """In words, how it ended."""
        return self.fate or exit_words(self.process.returncode)


class Launcher:
    """Starts processes, each with a socket of its own in a directory that only this user can enter."""

    def __init__(self, options: ProcessOptions) -> None:
        self._options = options
        self._lives = 0
        self.directory: Path | None = None

    async def launch(self, on_lost: Callable[[], None], restore: Path | None = None) -> Life:
        """Start a process and wait until it serves; leaves none behind on failure.

        Args:
            on_lost: called once when the process is known to be gone or cannot be reached.
            restore: directory of kept prefixes.

        Raises:
            BundleError: a model file cannot be loaded.
            EngineFailed: the process died or did not answer while loading.
            OSError: it cannot be started.
        """
        # Cleaners of temporary files take a directory that nobody has touched for days.
        if self.directory is None or not self.directory.is_dir():
            self.directory = _private_directory()
        self._lives += 1
        socket = self.directory / f"{self._lives}.sock"
        # -P: the working directory is no place to import from.
        command = [sys.executable, "-P", "-m", "quizglass_server.engines.llama.child"]
        process = await asyncio.create_subprocess_exec(
            *command,
            *self._options.arguments(socket, restore),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_LINE_BYTES,
            start_new_session=True,
            env={**_OPENMP, **os.environ},
        )
        assert process.stderr is not None
        log = asyncio.create_task(relay_all(process.stderr, logger), name="generator log")
        client = GeneratorClient(on_lost)
        try:
            report = await self._report(process)
            await client.connect(socket)
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await log
            raise
        description, executor = report.get("description", ""), report.get("executor", "cpu")
        logger.info("generator process %d serves %s", process.pid, description)
        return Life(process, client, log, description, executor)

    def clean(self) -> None:
        """Remove the sockets."""
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None

    async def _report(self, process: Process) -> dict[str, str]:
        """The child's own line: description and executor, or why the model cannot be loaded."""
        assert process.stdout is not None
        name = self._options.model.name
        try:
            async with asyncio.timeout(self._options.load_timeout_s):
                line = await process.stdout.readline()
                if not line:
                    await process.wait()
        except TimeoutError:
            raise EngineFailed(f"{name}: not loaded after {self._options.load_timeout_s:.0f} s") from None
        if not line:
            how = exit_words(process.returncode)
            raise EngineFailed(f"{name}: the generator process died while loading it ({how}); see the log")
        report = _parse_report(line)
        if (reason := report.get("failed")) is not None:
            raise BundleError(reason)
        return report


def exit_words(status: int | None) -> str:
    """An exit status in words."""
    return f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"


def _parse_report(line: bytes) -> dict[str, str]:
    """The child's line of JSON, an object of strings."""
    try:
        return {str(key): str(value) for key, value in json.loads(line).items()}
    except (ValueError, AttributeError):
        raise EngineFailed("the generator process did not speak its protocol; reinstall the server") from None


def _private_directory() -> Path:
    """A new directory that only this user can enter, with a path short enough for a socket."""
    directory = Path(tempfile.mkdtemp(prefix="quizglass-"))
    if len(str(directory)) > _MAX_SOCKET_PATH:
        directory.rmdir()
        directory = Path(tempfile.mkdtemp(prefix="quizglass-", dir="/tmp"))
    return directory
