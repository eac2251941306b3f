"""A Wyoming server as roles ask it: reached, looked at again and again, and asked for so much at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from time import monotonic

from quizglass_bundle.speech_server import SpeechServer
from quizglass_server.engines.generator.connection import Address
from quizglass_server.engines.wyoming.abilities import Service, SpeechProgram, described
from quizglass_server.engines.wyoming.link import Link, opened
from quizglass_server.engines.wyoming.process import SpeechProcess, SpeechProcessOptions
from quizglass_server.errors import EngineLost, QuizglassError
from quizglass_server.scheduling.clients import current_client
from quizglass_server.scheduling.deadline import deadline
from quizglass_server.scheduling.places import Places

_MOST_REQUESTS = 16
_LOOK_EVERY_S, _LOOK_FIRST_S = 15.0, 1.0
_WAIT_S = 3600.0
logger = logging.getLogger(__name__)


class WyomingServer:
    """Such a server.

    Args:
        where: its address, or the command that starts it.
        role: what it is asked for, as errors and logs name it.
        service: what the protocol calls that.
        options: how patient to be with a process.

    Raises:
        SettingsError: the command names no program.
    """

    def __init__(
        self,
        where: SpeechServer,
        role: str,
        service: Service,
        options: SpeechProcessOptions | None = None,
    ) -> None:
        self.role = role
        self.program = SpeechProgram()
        """What it can do; nothing while it is not known."""
        self.on_change: Callable[[], None] = lambda: None
        self._where = where
        self._service: Service = service
        self._name = f"{role} ({where.command[0] if where.command else where})"
        self._places = Places(_MOST_REQUESTS, f"places of {role}")
        self._why = "it has not been asked yet"
        self._lost = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._process: SpeechProcess | None = None
        if where.command:
            self._process = SpeechProcess(where.command, self._name, self._look_at, options or SpeechProcessOptions())
        self._address = Address(where.socket, where.host, where.port)

    @property
    def ready(self) -> bool:
        """Whether it answered when it was last looked at."""
        return not self.why

    @property
    def why(self) -> str:
        """Why it cannot be asked; empty while it can."""
        return self._why if self._process is None else self._process.why

    @property
    def executor(self) -> str:
        """Where it runs: elsewhere behind a network address, else in a process of this machine."""
        return "elsewhere" if self._where.elsewhere else "process"

    def start(self) -> None:
        """Begin to look after it; returns at once."""
        if self._process is not None:
            self._process.on_change = lambda: self.on_change()
            self._process.start()
        else:
            self._looking = asyncio.create_task(self._look(), name=f"look at {self.role}")

    async def close(self) -> None:
        """End the process, where there is one."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        if self._process is not None:
            await self._process.close()

    @asynccontextmanager
    async def asked(self) -> AsyncIterator[Link]:
        """A connection for one request, which ends with it.

        Raises:
            EngineLost: the server cannot be reached.
            EngineFailed: it does other things.
            Overloaded: it is asked for too much at once.
        """
        place = self._places.take(current_client())
        link: Link | None = None
        try:
            link = await self._linked()
            yield link
        except EngineLost as error:
            if self._process is None:
                self._told(error.message)
                self._lost.set()
            raise
        finally:
            if link is not None:
                link.close()
            place.release()

    def answering(self, within_s: float) -> AbstractContextManager[None]:
        """In the block it has all the input of an answer, and may be silent for so many seconds."""
        return nullcontext() if self._process is None else self._process.answering(within_s)

    async def _linked(self) -> Link:
        if self._process is not None:
            due = deadline()
            address = await self._process.reached(_WAIT_S if due is None else due - monotonic())
            return await opened(address, self._name)
        if not self.ready:  # what it can do is not known, or may have changed
            await self._look_at(self._address)
            self._told("")
        return await opened(self._address, self._name)

    async def _look_at(self, address: Address) -> None:
        """See whether a server answers, and what it can do. Raises EngineLost, EngineFailed."""
        link = await opened(address, self._name)
        try:
            self.program = await described(link, self._service, self._name)
        finally:
            link.close()

    async def _look(self) -> None:
        """Look at a server that is not this one's to start, again and again."""
        wait_s = _LOOK_FIRST_S
        while True:
            self._lost.clear()
            try:
                await self._look_at(self._address)
                self._told("")
            except QuizglassError as error:
                self._told(error.message)
            wait_s = _LOOK_EVERY_S if self.ready else min(2 * wait_s, _LOOK_EVERY_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._lost.wait()
                await asyncio.sleep(_LOOK_FIRST_S)

    def _told(self, why: str) -> None:
        if why != self._why:
            logger.log(logging.WARNING if why else logging.INFO, "%s %s", self.role, why or f"is there: {self._name}")
            self._why = why
            self.on_change()


class WyomingRole:
    """What both roles of such servers have: it is there while the server answers."""

    def __init__(self, server: WyomingServer) -> None:
        self.server = server
        self.executor = server.executor

    @property
    def ready(self) -> bool:
        """Whether the server answers."""
        return self.server.ready

    @property
    def notice(self) -> str:
        """Why it does not; empty while it does."""
        return self.server.why

    def start(self) -> None:
        """Begin to look after the server."""
        self.server.start()

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever it may have become ready or not."""
        self.server.on_change = told

    async def close(self) -> None:
        """End it."""
        await self.server.close()
