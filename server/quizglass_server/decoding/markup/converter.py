"""Converts markup in a process of its own: the server's threads, which share one lock, stay free meanwhile.

A text that takes too much time or memory, or that a parser dies of, costs the process and is taken as plain text; the
next one gets another process. It is started when it is first needed, and ends after a minute without anything to do.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from quizglass.values import Entry
from quizglass_server.decoding.markup.blocks import FORMATS, Block, plain
from quizglass_server.decoding.markup.child import READY, US_A_CHARACTER, unpacked
from quizglass_server.errors import KnowledgeFailed

logger = logging.getLogger(__name__)

SHORT = 2_000
"""Characters up to which markup is converted at once: whatever it is, that takes milliseconds."""

_WAIT_S = 120.0  # for one text on a busy machine; the process ends itself long before on a quiet one
_START_S = 60.0
_LEAVE_S = 5.0


def is_long_markup(entry: Entry) -> bool:
    """Whether the text of an entry is better converted here than wherever it is needed."""
    return entry.text_format in FORMATS and len(entry.text) > SHORT


class Converter:
    """One process, used by one text after the other. Close with `close`."""

    def __init__(self, us_a_character: float = US_A_CHARACTER) -> None:
        """Give every text so many microseconds of processor time a character, and a second."""
        self._us_a_character = us_a_character
        # One thread: the system ends the process with the thread that started it.
        self._thread = ThreadPoolExecutor(1, "knowledge-markup")
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    async def blocks(self, text: str, text_format: str) -> list[Block]:
        """What a text consists of, in order; without its structure when that would take too much time or memory.

        Raises:
            KnowledgeFailed: the process cannot be started, or `close` has ended it.
        """
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._converted, text, text_format)

    def close(self) -> None:
        """End the process, whatever text it has; waiters get an error. Blocks."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()
        self._thread.shutdown()
        self._end()

    def _converted(self, text: str, text_format: str) -> list[Block]:
        self._check_open()
        question = json.dumps([text, text_format]).encode("ascii") + b"\n"
        answer = self._answer(question)
        status = self._end() if not answer else None
        self._check_open()  # `close` may have ended the process
        if status == 0:  # it had had nothing to do for a minute, and went while it was asked
            answer = self._answer(question)
            status = self._end() if not answer else None
        if answer:
            return unpacked(json.loads(answer))
        about = {"characters": len(text), "format": text_format, "status": status}
        logger.warning("markup that takes too much time or memory is read as plain text", extra=about)
        return plain(text, text_format)

    def _check_open(self) -> None:
        if self._closed:
            raise KnowledgeFailed("the process that converts Markdown and HTML is ended; the server is stopping")

    def _answer(self, question: bytes) -> bytes:
        """The line that answers; empty when the process ended instead."""
        process = self._running()
        return _within(_WAIT_S, process, lambda: _asked(process, question))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        # -P: the working directory is no place to import from.
        command = [sys.executable, "-P", "-m", "quizglass_server.decoding.markup.child", str(self._us_a_character)]
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own module, no shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Ctrl-C in the server's terminal is the server's. Not a session: the child's niceness is towards others
                # of the server's.
                process_group=0,
            )
        except OSError as error:
            raise KnowledgeFailed(
                f"the process that converts Markdown and HTML cannot be started ({error.strerror}); try again later"
            ) from error
        process = self._process
        if _within(_START_S, process, lambda: _line(process)) != READY:
            status = self._end()
            raise KnowledgeFailed(
                f"the process that converts Markdown and HTML cannot be started (status {status}); try again later"
            )
        return process

    def _end(self) -> int | None:
        """End the process; returns its exit status, None if there was none."""
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not yet written has nowhere to go
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_LEAVE_S)
        process.kill()
        return process.wait()


def _asked(process: subprocess.Popen[bytes], question: bytes) -> bytes:
    assert process.stdin is not None
    try:
        process.stdin.write(question)
        process.stdin.flush()
    except OSError:
        return b""
    return _line(process)


def _line(process: subprocess.Popen[bytes]) -> bytes:
    """The next line of the process; empty when it ended, perhaps within the line."""
    assert process.stdout is not None
    line = process.stdout.readline()
    return line if line.endswith(b"\n") else b""


def _within(seconds: float, process: subprocess.Popen[bytes], wait: Callable[[], bytes]) -> bytes:
    """What the process answers; it is killed when it does not in time."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        return wait()
    finally:
        timer.cancel()
