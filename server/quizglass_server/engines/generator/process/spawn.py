"""Starts a child process, reads what it writes, and waits for its end.

Not by the event loop's own means. uvloop forks, and a fork runs what gRPC and other libraries registered for one, in a
process full of their threads: children crashed between fork and exec, and what a failed start had opened stayed open.
`subprocess` uses vfork, which runs no such handlers, and here every descriptor has an owner from its first moment.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from quizglass_server.containment import Listens

DESCRIPTORS = 8
"""Most that `spawn` has open at once, with some for the connections to the child."""
_LINE_BYTES = 1 << 16
_STARTED = (sys.executable, "-P", "-m", "quizglass_server.engines.generator.process.started")


class Child:
    """A process that was started, with what was opened for it."""

    def __init__(self, process: subprocess.Popen[bytes], output: asyncio.StreamReader, own: ExitStack) -> None:
        self.output = output
        """What it writes to its standard output and error."""
        self._process = process
        self._own = own
        self._ended = asyncio.Event()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, the negative number of the signal that ended it, or None while it runs."""
        return self._process.returncode

    async def wait(self) -> None:
        """Wait for its end."""
        await self._ended.wait()

    def send(self, number: signal.Signals) -> None:
        """Send it and the processes that it started a signal, if it has not ended."""
        if self._process.returncode is None:
            # Popen.send_signal would look for the exit status itself, and lose it to the thread that waits for it.
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def close(self) -> None:
        """Close everything that was opened for it; one that still runs is killed."""
        self._own.close()

    def watch(self) -> None:
        """Notice its end, and end what it has started. Raises OSError where there are no more threads."""
        loop = asyncio.get_running_loop()

        def wait() -> None:
            _end_group(self.pid)
            self._process.wait()
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._ended.set)

        try:
            # Every loop has its own way to notice it, none of which works on all systems.
            threading.Thread(target=wait, name="generator's end", daemon=True).start()
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, "no more threads") from error


async def spawn(command: Sequence[str], environment: Mapping[str, str], folder: Path, contained: Listens = "") -> Child:
    """Start a process in a session of its own, that ends with this one.

    Args:
        command: the program's file and its arguments.
        environment: its variables.
        folder: its working directory; if it is contained, the one that it may write to.
        contained: what it takes connections on, if it is contained; empty: it is not.

    Raises:
        OSError: it cannot be started; nothing is left open.
    """
    # The system tells a child of the end of the thread that started it: only the main one ends with the process.
    parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
    with ExitStack() as undo:
        # Not a pipe: uvloop closes a file's descriptor twice, and the second time it may be another file's.
        ours, theirs = socket.socketpair()
        undo.callback(ours.close)
        with theirs:
            process = subprocess.Popen(  # noqa: S603, ASYNC220 - returns as soon as the child executes
                [*_STARTED, str(parent), contained, *command],
                stdin=subprocess.DEVNULL,
                stdout=theirs.fileno(),
                stderr=theirs.fileno(),
                start_new_session=True,
                env=dict(environment),
                cwd=folder,
            )
        undo.callback(_end, process)
        reader, writer = await undisturbed(asyncio.open_unix_connection(sock=ours, limit=_LINE_BYTES))
        undo.callback(writer.close)
        child = Child(process, reader, undo)
        child.watch()
        child._own = undo.pop_all()
        return child


async def undisturbed(work: Coroutine[Any, Any, Any]) -> Any:
    """Do short work to its end, and be cancelled only then.

    A connection that is being made would be lost by uvloop, a process that is being ended would live on.
    """
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()


def _end_group(pid: int) -> None:
    """Wait for the end of a process, then end what it has started: a script that runs a server may die before it."""
    with suppress(OSError, AttributeError):  # not every system can wait without freeing the number
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        os.killpg(pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """For one that cannot be used: it goes, and leaves no zombie."""
    if process.returncode is None:
        process.kill()
        process.wait()
