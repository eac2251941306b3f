"""What llama-server writes: logged, and searched for why it failed and what it computes on."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from asyncio import StreamReader
from collections import deque

_KEPT_LINES = 200
_LEVELS = {"E": logging.WARNING}
"""The rest is for whoever looks for a fault (`--log-level debug`): it warns of its own defaults at every start."""
_LINE = re.compile(r"^(?:[\d.]+ )?([EWIDT]) (.*)$")
_REASON = re.compile(r"error|fail|invalid|unknown|mismatch|unable|cannot|unsupported|not support", re.IGNORECASE)
_LAST_REASONS = re.compile(r"exiting due to|failed to load model|error loading model:? *$")
_OFFLOADED = re.compile(r"offloaded ([1-9]\d*)/")
_UNKNOWN_FLAG = re.compile(r"invalid argument: (\S+)")
_MOST_REASON = 300
_READ_BYTES, _LONGEST_LINE = 1 << 16, 1 << 14
_CALM_S = 0.05
"""Between two looks at the log of a process that serves: it writes many lines a request, one at a time."""
logger = logging.getLogger("quizglass_server.engines.generator")


class LogTail:
    """The last lines of one process."""

    def __init__(self) -> None:
        self._lines: deque[tuple[str, str]] = deque(maxlen=_KEPT_LINES)
        self.on_gpu = False
        """Whether it said that layers of the model are on a device."""
        self.unknown_flag = ""
        """One of our flags that it does not know."""
        self.calm = False
        """Whether its lines may be read a moment later, several together."""

    async def read(self, output: StreamReader) -> None:
        """Log and keep what a process writes, until it ends."""
        rest, too_long = b"", False
        while received := await output.read(_READ_BYTES):
            *lines, rest = (rest + received).split(b"\n")
            for line in lines[too_long and bool(lines) :]:
                self._take(line.decode("utf-8", "replace").strip())
            too_long = (too_long and not lines) or len(rest) > _LONGEST_LINE
            rest = b"" if too_long else rest
            if self.calm:
                await asyncio.sleep(_CALM_S)
        self._take(rest.decode("utf-8", "replace").strip())

    def reason(self) -> str:
        """The first line that tells of a failure and not only of its end; empty where none does."""
        errors = [line for level, line in self._lines if level == "E"]
        told = errors or [line for level, line in self._lines if not level and _REASON.search(line)]
        best = [line for line in told if not _LAST_REASONS.search(line)] or told
        return best[0][:_MOST_REASON] if best else ""

    def mentions(self, text: str) -> bool:
        """Whether a line has this text."""
        return any(text in line for _, line in self._lines)

    def _take(self, text: str) -> None:
        if not text:
            return
        found = _LINE.match(text)
        level, line = (found[1], found[2]) if found else ("", text)
        self._lines.append((level, line))
        self.on_gpu = self.on_gpu or _OFFLOADED.search(line) is not None
        if (flag := _UNKNOWN_FLAG.search(line)) is not None:
            self.unknown_flag = flag[1]
        logger.log(_LEVELS.get(level, logging.DEBUG), "llama-server: %s", line)


def exit_words(status: int | None) -> str:
    """An exit status in words."""
    if status is None or status >= 0:
        return f"exit status {status}"
    name = signal.strsignal(-status)
    return f"signal {-status}" + (f": {name}" if name else "")
