"""A Wyoming server that is started here, watched and replaced when it dies or hangs.

What it prints is kept only until it serves, to say why it could not start: recognisers print what they heard.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quizglass.text import plain
from quizglass_server.engines.generator.connection import Address
from quizglass_server.engines.generator.process.breaker import Breaker, BreakerOptions, BreakerState
from quizglass_server.engines.generator.process.folders import new_folder, remove_folder, sweep
from quizglass_server.engines.generator.process.log import exit_words
from quizglass_server.engines.generator.process.spawn import Child, spawn, undisturbed
from quizglass_server.engines.generator.process.watch import Signs, WatchOptions, hang, processor_s
from quizglass_server.errors import EngineLost, QuizglassError, SettingsError

_ASK_EVERY_S = 0.1
_KEPT_LINES, _MOST_REASON = 40, 300
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SpeechProcessOptions:
    """How patient to be with it."""

    load_s: float = 120.0
    """Seconds that it may take to load its models."""
    restart_wait_s: float = 5.0
    """Seconds that a request waits for one that is being started."""
    close_s: float = 2.0
    watch: WatchOptions = field(default_factory=lambda: WatchOptions(interval_s=2.0))
    breaker: BreakerOptions = field(default_factory=BreakerOptions)


class SpeechProcess:
    """One process after the other.

    Args:
        command: the program and its arguments, without the address.
        name: for errors and logs.
        answers: whether the server at an address answers; raises QuizglassError where it does not.
        options: how patient to be.

    Raises:
        SettingsError: there is no such program.
    """

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        answers: Callable[[Address], Awaitable[object]],
        options: SpeechProcessOptions,
    ) -> None:
        program = shutil.which(command[0])
        if program is None:
            raise SettingsError(f"{name}: there is no program {command[0]!r}; give its path, or install it")
        self._command = [program, *command[1:]]
        self._name = name
        self._answers = answers
        self._options = options
        self._breaker = Breaker(options.breaker)
        self._owed = 0
        """Answers that it owes."""
        self._patience_s = 0.0
        self._heard = 0.0
        self._up = asyncio.Event()
        self._supervision: asyncio.Task[None] | None = None
        self._closed = False
        self.address: Address | None = None
        """Where it serves; None while it does not."""
        self.why = "it is being started"
        """Why it does not serve."""
        self.on_change: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start it; returns at once."""
        sweep()
        self._supervision = asyncio.create_task(self._supervise(), name=f"supervision of {self._name}")

    async def close(self) -> None:
        """End it; no other is started."""
        self._closed = True
        if self._supervision is not None:
            self._supervision.cancel()
            await asyncio.wait({self._supervision})

    async def reached(self, wait_s: float) -> Address:
        """Where it serves, after waiting for it for a moment. Raises EngineLost."""
        if self.address is None and self._breaker.state is BreakerState.CLOSED:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(wait_s, self._options.restart_wait_s)):
                    await self._up.wait()
        if self.address is None:
            raise EngineLost(f"{self._name}: {self.why}", self._breaker.retry_after_s or None)
        return self.address

    @contextmanager
    def answering(self, within_s: float) -> Iterator[None]:
        """In the block it owes an answer, and may be silent for so many seconds.

        Its silence is its own then, and not that of a wearer who still speaks, or of a client that takes no more sound.
        """
        self._owed += 1
        self._patience_s = within_s
        self._heard = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self._owed -= 1
            self._heard = asyncio.get_running_loop().time()

    async def _supervise(self) -> None:
        while True:
            self._breaker.probe()
            try:
                await self._life()
                wait_s = self._breaker.died()
            except OSError as error:
                wait_s = self._breaker.not_started()
                self._down(f"it cannot be started: {error.strerror or error}")
            except QuizglassError as error:
                wait_s = self._breaker.died()
                self._down(error.message)
            except Exception:  # whatever it is, the next attempt may work
                logger.exception("%s cannot be started", self._name)
                wait_s = self._breaker.died()
                self._down("it cannot be started; see the log")
            if self._closed:
                return
            logger.error("%s: %s; next attempt in %.1f s", self._name, self.why, wait_s)
            await asyncio.sleep(wait_s)

    async def _life(self) -> None:
        """One process from start to end; `why` says how it ended. Raises OSError, EngineLost: it never served."""
        folder, lock = new_folder(in_memory=True)
        try:
            socket = folder / "x.sock"
            # Recognisers write speech to temporary files: in memory, and gone with the process.
            own = {**os.environ, "TMPDIR": str(folder)}
            child = await spawn([*self._command, "--uri", f"unix://{socket}"], own, Path.cwd())
            printed: deque[str] = deque(maxlen=_KEPT_LINES)
            reading = asyncio.create_task(self._read(child, printed), name=f"output of {self._name}")
            ended = asyncio.ensure_future(child.wait())
            try:
                await self._loaded(child, ended, reading, printed, Address(socket=socket))
                await self._served(child, ended, Address(socket=socket))
            finally:
                self.address = None
                self._up.clear()
                await undisturbed(self._buried(child, ended, reading))
        finally:
            await remove_folder(folder, lock)

    async def _loaded(
        self,
        child: Child,
        ended: asyncio.Future[None],
        reading: asyncio.Task[None],
        printed: deque[str],
        address: Address,
    ) -> None:
        answering = asyncio.ensure_future(self._answering(address))
        try:
            await asyncio.wait({ended, answering}, timeout=self._options.load_s, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await reading
                told = next((line for line in reversed(printed) if line), "it said nothing")
                raise EngineLost(f"it ended while it started ({exit_words(child.returncode)}): {told[:_MOST_REASON]}")
            if not answering.done():
                raise EngineLost(f"it does not answer within {self._options.load_s:g} s")
            answering.result()
        finally:
            answering.cancel()

    async def _answering(self, address: Address) -> None:
        while True:
            with suppress(EngineLost):
                await self._answers(address)
                return
            await asyncio.sleep(_ASK_EVERY_S)

    async def _served(self, child: Child, ended: asyncio.Future[None], address: Address) -> None:
        async def alive() -> None:
            await self._answers(address)

        def signs() -> Signs:
            # Many servers hear and speak on the thread that would answer: then they are given a request's patience.
            return Signs(self._owed, self._heard, processor_s(child.pid), self._patience_s)

        self.address, self.why = address, ""
        self._up.set()
        self.on_change()
        logger.info("%s serves, process %d", self._name, child.pid)
        hanging = asyncio.create_task(hang(alive, signs, self._options.watch), name=f"watch over {self._name}")
        try:
            waited: set[asyncio.Future[Any]] = {ended, hanging}
            await asyncio.wait(waited, timeout=self._options.breaker.steady_s, return_when=asyncio.FIRST_COMPLETED)
            if not (ended.done() or hanging.done()):
                self._breaker.steady()
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            fate = f"it died ({exit_words(child.returncode)})" if ended.done() else f"it hung: {hanging.result()}"
            self._down(fate)
        finally:
            hanging.cancel()

    def _down(self, why: str) -> None:
        self.address, self.why = None, why
        self._up.clear()
        self.on_change()

    async def _buried(self, child: Child, ended: asyncio.Future[None], reading: asyncio.Task[None]) -> None:
        child.send(signal.SIGTERM)
        await asyncio.wait({ended}, timeout=self._options.close_s)
        child.send(signal.SIGKILL)
        await ended
        await reading
        child.close()

    async def _read(self, child: Child, printed: deque[str]) -> None:
        """Take what it prints, and keep it only until it serves."""
        while True:
            try:
                line = await child.output.readline()
            except ValueError:  # longer than is kept of a line
                continue
            if not line:
                return
            if self.address is None:
                printed.append(plain(line.decode("utf-8", "replace").strip()))
            else:
                printed.clear()
