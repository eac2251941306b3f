"""Starts the generator process, notices its death at once, and starts it again.

A request that finds no process waits a moment for the next one; a request that was running when the process died is
told so immediately. Knows nothing of prompts or turns.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from quizglass_server.engines.llama.client import GeneratorClient, ProcessInfo
from quizglass_server.engines.llama.prompt import Finished, Part, Piece, Usage
from quizglass_server.engines.llama.relay import relay_all
from quizglass_server.errors import BundleError, EngineFailed, EngineLost, QuizglassError

FIRST_DELAY_S, LONGEST_DELAY_S = 0.1, 5.0
STEADY_AFTER_S = 10.0
"""A process that lived so long is restarted without delay."""
_MAX_SOCKET_PATH = 100
_LINE_BYTES = 1 << 20
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """What the generator process loads and how long its users wait."""

    model: Path
    projector: Path
    width: int
    height: int
    context: int
    stop: tuple[str, ...] = ()
    sequences: int = 4
    threads: int = 1
    load_timeout_s: float = 300.0
    restart_wait_s: float = 10.0
    """How long a request waits for a process that is being restarted."""
    close_wait_s: float = 2.0

    def arguments(self, address: str) -> list[str]:
        """Command line of the child, without the interpreter."""
        numbers = {"width": self.width, "height": self.height, "context": self.context}
        numbers |= {"sequences": self.sequences, "threads": self.threads}
        return [
            f"--socket={address}",
            f"--model={self.model}",
            f"--projector={self.projector}",
            *(f"--{name}={value}" for name, value in numbers.items()),
            *(f"--stop={text}" for text in self.stop),
            f"--log-level={logging.getLogger('quizglass_server').getEffectiveLevel()}",
        ]


@dataclass(slots=True)
class _Life:
    """One process with the connection to it."""

    process: Process
    client: GeneratorClient
    log: asyncio.Task[None]
    description: str


class GeneratorProcess:
    """A generator process that is restarted whenever it dies."""

    def __init__(self, options: ProcessOptions) -> None:
        self._options = options
        self._life: _Life | None = None
        self._available = asyncio.Event()
        self._supervision: asyncio.Task[None] | None = None
        self._directory: Path | None = None
        self._lives = 0
        self._executor = "cpu"

    @property
    def ready(self) -> bool:
        """Whether a process is serving right now."""
        return self._life is not None

    @property
    def description(self) -> str:
        """What the model calls itself; empty while no process is serving."""
        return self._life.description if self._life else ""

    @property
    def executor(self) -> str:
        """What the model runs on: cpu or gpu."""
        return self._executor

    @property
    def pid(self) -> int | None:
        """Of the process that is serving."""
        return self._life.process.pid if self._life else None

    async def start(self) -> None:
        """Start the process and wait until it serves.

        Raises:
            BundleError: a model file cannot be loaded.
            EngineFailed: the process died or did not answer while loading.
        """
        try:
            life = await self._launch()
        except OSError as error:
            self._remove_directory()
            raise EngineFailed(f"the generator process cannot be started: {error.strerror}") from error
        except BaseException:
            self._remove_directory()
            raise
        self._open(life)
        self._supervision = asyncio.create_task(self._supervise(life), name="generator supervision")

    async def generate(self, prompt: Sequence[Part], max_tokens: int) -> AsyncGenerator[Piece | Finished, None]:
        """As `GeneratorClient.generate`, on whichever process is serving."""
        client = await self._client()
        stream = client.generate(prompt, max_tokens)
        async with aclosing(stream):
            async for item in stream:
                yield item

    async def choose(self, prompt: Sequence[Part], labels: Sequence[str]) -> tuple[list[float], Usage]:
        """As `GeneratorClient.choose`, on whichever process is serving."""
        return await (await self._client()).choose(prompt, labels)

    async def info(self) -> ProcessInfo:
        """As `GeneratorClient.info`, of whichever process is serving."""
        return await (await self._client()).info()

    async def close(self) -> None:
        """End supervision and process. What still runs on it gets EngineLost."""
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.wait({self._supervision})
        if self._life is not None:
            life, self._life = self._life, None
            await self._end(life)
        self._remove_directory()

    async def _client(self) -> GeneratorClient:
        try:
            async with asyncio.timeout(self._options.restart_wait_s):
                while self._life is None:
                    if self._supervision is None or self._supervision.done():
                        raise EngineLost("the generator process is not running")
                    await self._available.wait()
        except TimeoutError:
            raise EngineLost("the generator process is being restarted; ask again in a moment") from None
        return self._life.client

    async def _supervise(self, life: _Life | None) -> None:
        """Serve one life after the other, for ever."""
        delay = 0.0
        while True:
            if life is not None:
                began = monotonic()
                await life.process.wait()
                delay = 0.0 if monotonic() - began > STEADY_AFTER_S else delay
                await self._mourn(life)
            await asyncio.sleep(delay)
            delay = min(max(delay * 2, FIRST_DELAY_S), LONGEST_DELAY_S)
            try:
                life = await self._launch()
                self._open(life)
            except Exception as error:  # whatever it is, the next attempt may work, and without one none ever does
                known = isinstance(error, (QuizglassError, OSError))
                logger.error(
                    "the generator process cannot be restarted, next attempt in %.1f s: %s",
                    delay,
                    error,
                    exc_info=None if known else error,
                )
                life = None

    def _open(self, life: _Life) -> None:
        self._life = life
        self._available.set()

    def _give_up(self, process: Process) -> None:
        """No request may use this process any more; one that lives but cannot be reached is ended."""
        self._available.clear()
        self._life = None
        with suppress(ProcessLookupError):
            process.kill()

    async def _mourn(self, life: _Life) -> None:
        life.client.lose()
        logger.error("the generator process died (%s); restarting it", _how(life.process.returncode))
        await life.client.close()
        await life.log

    def _remove_directory(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    async def _launch(self) -> _Life:
        """Start a process and wait until it serves; leaves none behind on failure."""
        # Cleaners of temporary files take a directory that nobody has touched for days.
        if self._directory is None or not self._directory.is_dir():
            self._directory = _private_directory()
        self._lives += 1
        address = f"unix:{self._directory / f'{self._lives}.sock'}"
        # -P: the working directory is no place to import from.
        command = [sys.executable, "-P", "-m", "quizglass_server.engines.llama.child"]
        process = await asyncio.create_subprocess_exec(
            *command,
            *self._options.arguments(address),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_LINE_BYTES,
            start_new_session=True,
            # OpenMP's threads would spin between steps on cores that ONNX Runtime shares.
            env={"OMP_WAIT_POLICY": "passive", **os.environ},
        )
        assert process.stderr is not None
        log = asyncio.create_task(relay_all(process.stderr, logger), name="generator log")
        try:
            description = await self._report(process)
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await log
            raise
        logger.info("generator process %d serves %s", process.pid, description)
        return _Life(process, GeneratorClient(address, lambda: self._give_up(process)), log, description)

    async def _report(self, process: Process) -> str:
        """The child's own line: the model's description, or why it cannot be loaded."""
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
            how = _how(process.returncode)
            raise EngineFailed(f"{name}: the generator process died while loading it ({how}); see the log")
        report = _parse_report(line)
        if (reason := report.get("failed")) is not None:
            raise BundleError(reason)
        self._executor = report.get("executor", "cpu")
        return report.get("description", "")

    async def _end(self, life: _Life) -> None:
        assert life.process.stdin is not None
        life.process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.close_wait_s):
                await life.process.wait()
        life.client.lose()
        await life.process.wait()
        await life.client.close()
        await life.log


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


def _how(status: int | None) -> str:
    return f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"
