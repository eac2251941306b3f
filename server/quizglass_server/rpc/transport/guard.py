"""Stands before every handler: names its client in the log, turns what it raises into a status, once, and lets it
finish before the server stops."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any, TypeVar

import grpc

from quizglass_server.config.logs import set_peer
from quizglass_server.errors import Stopping, reported
from quizglass_server.network.login import current_login
from quizglass_server.observe import metrics
from quizglass_server.rpc.transport.sockets import address_of, name_of
from quizglass_server.rpc.transport.status import to_status
from quizglass_server.scheduling.clients import address_group, current_client
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.scheduling.places import Places

Result = TypeVar("Result")
_GOING_ON: set[asyncio.Task[Any]] = set()
_CHANGES = frozenset({"AddEntries", "DeleteEntry", "CompactEntries", "ForgetMemory", "CompactMemory", "CreatePairing"})
logger = logging.getLogger(__name__)
Context = grpc.aio.ServicerContext[Any, Any]


@contextmanager
def due_with(context: Context) -> Iterator[None]:
    """Work in the block is due when the caller's deadline passes, if it has one."""
    left: float | None = context.time_remaining()  # its stub says that there is always one
    with nullcontext() if left is None else due_within(left):
        yield


async def to_its_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Wait for work that changes what is kept: it goes on, and is logged, though its client may leave meanwhile."""
    task = asyncio.create_task(work, name="goes on without its client")
    _GOING_ON.add(task)
    task.add_done_callback(_over)
    return await asyncio.shield(task)


def _over(task: asyncio.Task[Any]) -> None:
    _GOING_ON.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, or asyncio logs it where the caller has gone


def _named(peer: str) -> tuple[str, str]:
    """A peer as address:port, and the address that it asks for where that is another, as a trusted proxy's."""
    address, client = address_of(peer), current_client().address
    proxied = address is not None and client not in ("", address_group(address[0]))
    return name_of(peer), client if proxied else ""


class Guard:
    """Counts the handlers that run; shared by the services of one server.

    Args:
        most: how many may run at once, of the methods that hold much for as long as their client likes; of these no
            address runs all.
    """

    def __init__(self, most: Mapping[str, int] | None = None) -> None:
        self._places = {method: Places(count, f"calls of {method}") for method, count in (most or {}).items()}
        self._running: Counter[str] = Counter()
        self.withdrawn = False
        """Whether new requests are no longer welcome, though they may still be answered."""
        self.draining = False
        """Whether new requests are refused, since the server stops."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._waits: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def __call__(self, context: Context, method: str) -> AsyncIterator[None]:
        """Run a handler's body; domain errors become their status, anything else INTERNAL without its text.

        CancelledError passes through untouched: a handler that swallows it leaks native memory (grpc#43360).
        """
        login = current_login()
        set_peer(*_named(context.peer()), login.name, login.tenant)
        with self._counted(method):
            try:
                with self._admitted(method):
                    yield
            except (grpc.aio.AbortError, grpc.aio.BaseError):
                raise
            except Exception as error:
                known = reported(error, method)
                metrics.REFUSALS.add(known.code)
                if method in _CHANGES:
                    logger.info("change failed", extra={"audit": True, "rpc": method, "code": known.code})
                await context.abort_with_status(to_status(known))

    @contextmanager
    def running(self, method: str) -> Iterator[None]:
        """Count the body of a handler that tells its client of errors itself.

        Raises:
            Stopping, Overloaded: it must not run.
        """
        with self._counted(method), self._admitted(method):
            yield

    @contextmanager
    def _counted(self, method: str) -> Iterator[None]:
        self._running[method] += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running[method] -= 1
            if not self._running.total():
                self._idle.set()

    @contextmanager
    def _admitted(self, method: str) -> Iterator[None]:
        if self.draining:
            raise Stopping
        if (places := self._places.get(method)) is None:
            yield
            return
        place = places.take(current_client())
        try:
            yield
        finally:
            place.release()

    @asynccontextmanager
    async def patient(self) -> AsyncIterator[None]:
        """Wait in the block for a client that may go on for long, until the server has to close.

        Raises:
            Stopping: it has to.
        """
        try:
            async with asyncio.timeout(None) as limit:
                self._waits.add(limit)
                try:
                    yield
                finally:
                    self._waits.discard(limit)
        except TimeoutError:
            if limit.expired():
                raise Stopping from None
            raise

    async def drain(self, grace_s: float) -> bool:
        """Refuse new requests, and wait until none runs; whether that came true within `grace_s` seconds.

        If it did not, whoever waits in `patient` waits no longer.
        """
        self.withdrawn = self.draining = True
        try:
            async with asyncio.timeout(grace_s):
                await self._idle.wait()
        except TimeoutError:
            for limit in self._waits:
                limit.reschedule(asyncio.get_running_loop().time())
            return False
        return True
