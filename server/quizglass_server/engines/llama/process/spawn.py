"""Starts a child process with a connection to it, and waits for its end.

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
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from functools import partial
from threading import Thread
from typing import Any

DESCRIPTORS = 12
"""Most that `spawn` has open at once: two ends of four connections, and two that tell whether the program was found."""
_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Ends:
    """One end of everything between the processes."""

    link: socket.socket
    input: socket.socket
    output: socket.socket
    errors: socket.socket


class Child:
    """A process that was started, with what was opened for it."""

    def __init__(self, process: subprocess.Popen[bytes], ends: _Ends, own: ExitStack) -> None:
        self.link = ends.link
        """This end of the connection; the child has the other one."""
        self.output = asyncio.StreamReader(_LINE_BYTES)
        """Its standard output."""
        self.errors = asyncio.StreamReader(_LINE_BYTES)
        """Its standard error."""
        self._process = process
        self._ends = ends
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

    def kill(self) -> None:
        """End it now, if it has not ended."""
        if self._process.returncode is None:
            # Popen.kill would look for the exit status itself, and lose it to the thread that waits for it.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close_input(self) -> None:
        """Close its standard input, which asks it to end."""
        self._ends.input.close()

    def close(self) -> None:
        """Close everything that was opened for it; one that still runs is killed."""
        self._own.close()

    async def listen(self) -> None:
        """Read what it writes, and notice its end.

        Raises:
            OSError: there are no more threads or descriptors.
        """
        loop = asyncio.get_running_loop()

        def wait() -> None:
            self._process.wait()
            with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
                loop.call_soon_threadsafe(self._ended.set)

        try:
            # Every loop has its own way to notice it, none of which works on all systems.
            Thread(target=wait, name="generator's end", daemon=True).start()
        except RuntimeError as error:
            raise OSError(errno.EAGAIN, "no more threads") from error
        for pipe, reader in ((self._ends.output, self.output), (self._ends.errors, self.errors)):
            transport, _ = await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe)
            self._own.callback(transport.close)


async def spawn(command: Callable[[int], Sequence[str]], environment: Mapping[str, str]) -> Child:
    """Start a process in a session of its own.

    Args:
        command: made from the number of the descriptor that is the child's end of the connection.
        environment: the child's.

    Raises:
        OSError: it cannot be started; nothing is left open.
    """
    with ExitStack() as undo, ExitStack() as passed:
        pairs = []
        for _ in fields(_Ends):
            # Not pipes: uvloop closes a file's descriptor twice, and the second time it may be somebody else's.
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            passed.callback(theirs.close)
            pairs.append((ours, theirs))
        own_ends, child_ends = (_Ends(*ends) for ends in zip(*pairs, strict=True))
        process = subprocess.Popen(  # noqa: S603, ASYNC220 - returns as soon as the child executes
            command(child_ends.link.fileno()),
            stdin=child_ends.input.fileno(),
            stdout=child_ends.output.fileno(),
            stderr=child_ends.errors.fileno(),
            pass_fds=(child_ends.link.fileno(),),
            start_new_session=True,
            env=environment,
        )
        undo.callback(_end, process)
        passed.close()
        child = Child(process, own_ends, undo)
        await _undisturbed(child.listen())
        child._own = undo.pop_all()
        return child


async def _undisturbed(listening: Coroutine[Any, Any, None]) -> None:
    """Be cancelled only once the pipes are connected, some turns of the loop later.

    Cancelled before, uvloop closes the descriptor that it was about to take. The socket knows nothing of it and closes
    it again: that is an OSError in place of the cancellation, or somebody else's file.
    """
    task, cancelled = asyncio.ensure_future(listening), None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from task.exception()
    task.result()


def _end(process: subprocess.Popen[bytes]) -> None:
    """For one that cannot be used: it goes, and leaves no zombie."""
    if process.returncode is None:
        process.kill()
        process.wait()
