"""One decoder process as the server sees it: started, given one picture at a time, ended. On the event loop alone."""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass

from quizglass.picture_files.errors import DAMAGED, BadPicture, OutOfMemory
from quizglass_server.decoding.messages import ANSWER, DONE, MEMORY, MOST_WORDS, REFUSED, REQUEST

CPU_S = 5
"""Processor time for one picture: three times what the largest that is accepted takes."""
logger = logging.getLogger(__name__)
# Freed pictures go back to the system at once instead of staying with the allocator.
_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "262144", "MALLOC_TRIM_THRESHOLD_": "1048576", "MALLOC_ARENA_MAX": "1"}


class Lost(Exception):
    """The process ended without an answer and through no fault of the picture's that is known."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """A decoded picture in memory of its own, freed with the last reference to it."""

    width: int
    height: int
    mapped: mmap.mmap
    """Rows from the top, 3 bytes a pixel; cannot be written to."""


class DecoderProcess:
    """A process that is started when it is needed and started anew when it was ended or died."""

    def __init__(self, niceness: int = 0) -> None:
        """`niceness` is what it is behind the server for the system's scheduler."""
        self._niceness = niceness
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None where no process runs."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it, unless it runs. It is ready after a tenth of a second; what it is given before waits.

        Raises:
            OSError: it cannot be started.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self.end()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            # Without a function to run before exec, Python uses vfork: nothing of the server's threads is copied.
            self._process = subprocess.Popen(  # noqa: S603  # our own module, no shell
                [sys.executable, "-P", "-m", "quizglass_server.decoding.worker", str(os.getpid()), str(self._niceness)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                # Ctrl-C in the server's terminal is the server's. In a session of its own its niceness would count for
                # nothing: Linux shares the cores among sessions first (sched(7), "The autogroup feature").
                process_group=0,
                env={**os.environ, **_ALLOCATOR},
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._link = ours

    async def decode(self, encoded: bytes, memory: int) -> Pixels:
        """Decode one picture; cancelling ends the process.

        Args:
            encoded: the file.
            memory: bytes that it may take.

        Raises:
            BadPicture: the file cannot be used.
            OutOfMemory: it took more.
            Lost: the process died.
            OSError: it cannot be started, or given the file.
        """
        self.start()
        assert self._link is not None
        link = self._link
        file = _in_memory(encoded)
        try:
            _send(link, REQUEST.pack(len(encoded), memory, CPU_S), file)
            await _readable(link)
            answer, files, *_ = socket.recv_fds(link, ANSWER.size + MOST_WORDS, 1)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise await self._died() from error
        except BaseException:
            self.end()
            raise
        if not answer:
            raise await self._died()
        return _pixels(answer, files)

    def end(self) -> None:
        """End it at once, whatever it does; the next picture starts another. Twice does no harm."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            # Taking hundreds of megabytes from a process takes the system a while, in which the loop goes on.
            threading.Thread(target=process.wait, name="decoder's end", daemon=True).start()

    async def _died(self) -> Exception:
        """What its end means for the picture."""
        process = self._process
        if process is None:
            return Lost("it was ended")
        status = await asyncio.to_thread(process.wait)
        self.end()
        if status == -signal.SIGXCPU:
            return BadPicture(f"the picture takes more than {CPU_S} s to decode; save it anew or resize it")
        if status == -signal.SIGKILL:
            return OutOfMemory("the system killed its process")
        logger.warning("a decoder process died (status %d); the picture counts as damaged", status)
        return BadPicture(DAMAGED) if status < 0 else Lost(f"exit status {status}")


def _in_memory(encoded: bytes) -> int:
    """A descriptor of memory with a file's bytes, so that the message that hands it over is never too long."""
    file = os.memfd_create("picture", os.MFD_CLOEXEC)
    try:
        view = memoryview(encoded)
        while view:
            view = view[os.write(file, view) :]
    except BaseException:
        os.close(file)
        raise
    return file


def _send(link: socket.socket, request: bytes, file: int) -> None:
    """Hand a descriptor over and close it."""
    try:
        socket.send_fds(link, [request], [file])
    finally:
        os.close(file)


async def _readable(link: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(link, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(link)


def _pixels(answer: bytes, files: list[int]) -> Pixels:
    """The pixels of an answer. Raises BadPicture, OutOfMemory."""
    kind, width, height = ANSWER.unpack_from(answer)
    words = answer[ANSWER.size :].decode("utf-8", "replace")
    if kind == REFUSED:
        raise BadPicture(words)
    if kind == MEMORY or not files:
        raise OutOfMemory(words or "no descriptor came with its pixels")
    assert kind == DONE
    (file,) = files
    try:
        return Pixels(width, height, mmap.mmap(file, 3 * width * height, prot=mmap.PROT_READ))
    except (OSError, ValueError, MemoryError) as error:
        raise OutOfMemory(repr(error)) from error
    finally:
        os.close(file)
