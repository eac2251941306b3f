"""The processes that a benchmark starts: they end with it, and are listed as the system tells it.

Any of those listed may end while it is looked at.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from quizglass_client.local import LocalServer


@contextmanager
def ended_together() -> Iterator[None]:
    """Told to end by SIGTERM, this process unwinds as after Ctrl-C, so that what it started is ended too.

    Servers and peers are ended by the context managers that started them, which the signal alone would pass over. To be
    entered in the main thread.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@asynccontextmanager
async def running_server(server: LocalServer) -> AsyncIterator[LocalServer]:
    """A server for a coroutine, stopped by its own process id afterwards.

    It is waited for on the event loop's own thread. A thread beside it could not be interrupted, and would go on to
    start a server that is never stopped. Meanwhile Python's collector passes over what the benchmark has loaded: it
    would stop the clients for a tenth of a second, which they would count as the server's.
    """
    server.__enter__()
    gc.collect()
    gc.freeze()
    try:
        yield server
    finally:
        gc.unfreeze()
        await asyncio.to_thread(server.__exit__, None, None, None)


def threads(pid: int) -> Iterator[Path]:
    """What /proc has of each of its threads."""
    tasks = Path(f"/proc/{pid}/task")
    with suppress(OSError):
        yield from tasks.iterdir()


def children(pid: int) -> list[int]:
    """Its children, by the lists of its threads: quicker than to ask every process, and fit to be done often."""
    listed: list[int] = []
    for thread in threads(pid):
        with suppress(OSError):
            listed += map(int, (thread / "children").read_text().split())
    return listed


def runs(pid: int, module: str) -> bool:
    """Whether it was started with this Python module."""
    with suppress(OSError):
        return module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
