"""Memory that requests take while they run, admitted from a stated total: messages, decoders at work, decoded pictures.

Whoever is about to take much memory asks first, waits until others have given theirs back, or is refused with a delay.
Nothing here allocates anything: sizes are what the askers expect at most.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import resource
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.deadline import deadline

_MIB = 1 << 20
_TURN_WAIT_S, _LONGEST_WAIT_S = 5.0, 30.0
_RETRY_S = 1.0
_COLLECT_EVERY_S = 0.5
"""How often at most Python is made to look for garbage, which takes some milliseconds of the event loop."""
_SMALL_SHARE, _KEPT_FOR_SMALL = 32, 8
"""Sizes up to one 32nd of the total are small, and an eighth of it is left to them, so that they seldom wait."""
_HELD_SHARE = 4
"""One quarter of the total, at most, waits to be admitted though it is taken already, as by messages that have come."""
_TRIM_BYTES, _TRIM_EVERY_S = 64 * _MIB, 2.0
"""How much must have been given back, and how often at most the allocator is asked to give it to the system."""
_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 16 * _MIB
"""M_MMAP_THRESHOLD of mallopt(3), and its value in bytes: the pictures and tensors of every turn are smaller, and would
cost a page fault for each of their pages if they came from the system anew."""
_TRIM_THRESHOLD, _KEPT_FREE = -1, 8 * _MIB
"""M_TRIM_THRESHOLD, and its value in bytes: what a turn has freed at the end of a heap is there for the next one. By
itself it is 128 KiB once the other is set."""
_ARENA_MAX, _FEWEST_ARENAS = -8, 2
"""M_ARENA_MAX. By itself there are up to eight heaps a core, each of which keeps its own free memory: what the process
takes then grows for an hour though what it uses does not. No more threads than cores allocate at the same moment."""
ELBOW_BYTES = 24 * _MIB
"""Address space that a turn may need beside what is admitted: stacks of threads, the engines' own scratch."""


class Reservation:
    """Memory that was admitted. Released once, by whoever holds it, on any thread."""

    def __init__(self, memory: WorkMemory, size: int) -> None:
        self._memory = memory
        self.size = size

    def shrink(self, size: int) -> None:
        """Give back all beyond `size`; a larger one changes nothing."""
        self._memory._give_back(self, min(size, self.size))

    def release(self) -> None:
        """Give it all back. Twice does no harm."""
        self._memory._give_back(self, 0)


class WorkMemory:
    """Admits sizes as long as their sum stays within a total.

    Waiters are served smallest first: an ordinary picture never waits for a giant one, whose turn comes when the others
    have ended or its own time is over.
    """

    def __init__(self, total: int, headroom: Callable[[], int | None] | None = None) -> None:
        """Admit up to `total` bytes; `headroom` says how many more the system would give, None for no limit."""
        self.total = total
        self._headroom = headroom or address_space_left
        self._used = 0
        self._given_back = 0
        self._last_trim = 0.0
        self._last_collection = -_COLLECT_EVERY_S
        # Its holder may collect garbage, and give back what that held.
        self._lock = threading.RLock()
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._held = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self.keepers: list[Callable[[int], None]] = []
        """Called when so many bytes are missing: each releases what it keeps as a cache."""

    @property
    def used(self) -> int:
        """Bytes that are admitted now."""
        return self._used

    @property
    def largest(self) -> int:
        """What can be admitted at most, when nothing else is under way."""
        return self.total - self.total // _KEPT_FOR_SMALL

    @asynccontextmanager
    async def admit(self, size: int, *, held: bool = False) -> AsyncGenerator[Reservation, None]:
        """Hold `size` bytes for the block. Raises Overloaded as `reserve` does."""
        reservation = await self.reserve(size, held=held)
        try:
            yield reservation
        finally:
            reservation.release()

    async def reserve(self, size: int, *, held: bool = False) -> Reservation:
        """Take `size` bytes, after waiting for them if need be; whoever gets them releases them.

        Args:
            size: how many.
            held: whether whoever asks takes them already, so that not many of them may wait.

        Raises:
            Overloaded: they were not there in time, which is until the work's deadline and at most five seconds, or
                thirty where it has none, as an import; or they are more than `largest`; or the system would not give
                them; or too many that are held wait already.
        """
        left = self._headroom()
        if left is not None and left < size + ELBOW_BYTES:
            raise Overloaded(
                "the server's memory limit leaves no room for this; try again later", retry_after_s=_RETRY_S
            )
        if self._take(size):
            return Reservation(self, size)
        self._make_room(size)
        if not self._take(size):
            with self._waiting(size if held else 0):
                await self._wait(size)
        return Reservation(self, size)

    @contextmanager
    def _waiting(self, held: int) -> Iterator[None]:
        """Count bytes that are held while they wait."""
        if held and self._held and self._held + held > self.total // _HELD_SHARE:
            raise self._refusal(held)
        self._held += held
        try:
            yield
        finally:
            self._held -= held

    def _make_room(self, size: int) -> None:
        """Have unneeded memory released: what is only kept, and turns that have ended.

        Those refer to themselves, their pictures with them, and few objects are no reason for Python to look for them.
        """
        for let_go in self.keepers:
            let_go(size)
        now = time.monotonic()
        if now - self._last_collection >= _COLLECT_EVERY_S:
            gc.collect()
            self._last_collection = time.monotonic()

    async def _wait(self, size: int) -> None:
        if size > self.largest:
            most, asked = (round(value / _MIB, 1) for value in (self.largest, size))
            raise Overloaded(f"{asked} MiB are needed, and work_memory_bytes admits {most} at most; send less at once")
        self._loop = asyncio.get_running_loop()
        waiter = self._loop.create_future()
        self._waiters.append((size, waiter))
        self._serve()  # room that another thread has made since, which knew of no loop to tell
        due = deadline()
        patience = _LONGEST_WAIT_S if due is None else min(_TURN_WAIT_S, due - time.monotonic())
        try:
            async with asyncio.timeout(patience):
                while not (await asyncio.wait({waiter}, timeout=_COLLECT_EVERY_S))[0]:
                    self._make_room(size)
        except BaseException as error:
            if waiter.done() and not waiter.cancelled():
                self._give_back(Reservation(self, size), 0)  # it came in the same moment: pass it on
            if isinstance(error, TimeoutError):
                raise self._refusal(size) from None
            raise
        finally:
            self._waiters = deque(each for each in self._waiters if each[1] is not waiter)

    def _refusal(self, size: int) -> Overloaded:
        used, total, asked = (round(value / _MIB) for value in (self._used, self.total, size))
        return Overloaded(
            f"{used} of {total} MiB for work are taken, {asked} more are needed; try again later",
            retry_after_s=_RETRY_S,
        )

    def _take(self, size: int) -> bool:
        small = size <= self.total // _SMALL_SHARE
        with self._lock:
            if self._used + size > (self.total if small else self.largest):
                return False
            self._used += size
            return True

    def _give_back(self, reservation: Reservation, size: int) -> None:
        with self._lock:
            freed = reservation.size - size
            reservation.size = size
            self._used -= freed
            self._given_back += freed
        if freed and self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: no waiter is left
                # Whoever lets go may be on any thread, or a collector's run.
                self._loop.call_soon_threadsafe(self._serve)
        if self._given_back >= _TRIM_BYTES:
            self._trim()

    def _serve(self) -> None:
        for size, waiter in sorted(self._waiters, key=lambda each: each[0]):
            if not waiter.done():
                if not self._take(size):
                    return
                waiter.set_result(None)

    def _trim(self) -> None:
        now = time.monotonic()
        if now - self._last_trim >= _TRIM_EVERY_S:
            self._last_trim, self._given_back = now, 0
            trim_soon()


def address_space_left() -> int | None:
    """Bytes until this process reaches its limit of address space; None where there is none."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return limit - pages * resource.getpagesize()


def trim_soon() -> None:
    """Give free memory back to the system, on a thread of its own, which takes about a tenth of a second."""
    threading.Thread(target=_trim, name="trim", daemon=True).start()


def _trim() -> None:
    """Give free memory back to the system, where the allocator is GNU's: it would keep what lies between the rest."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return


def return_large_blocks() -> None:
    """Have freed memory go back to the system, where the allocator is GNU's: large blocks, and few heaps for the rest.

    It begins so, and stops once it has seen some freed: then messages and pictures lie between small blocks, which
    keep their memory from being given back.
    """
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT_FREE)
        libc.mallopt(_ARENA_MAX, max(_FEWEST_ARENAS, os.cpu_count() or 0))
