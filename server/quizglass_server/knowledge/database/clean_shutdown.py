"""The clean-shutdown flag: tells after a crash whether the database still has all that was acknowledged.

SQLite replays its write-ahead log up to the first frame that is damaged and says nothing about the rest. The file
`marker` beside the database holds the sequence number of the last acknowledged commit and whether the store was closed
in order. It is written after each commit and not synced, which makes it never newer than what is on disk. A database
that is older than the flag of a server that did not close has lost commits. Nothing else depends on the flag, and one
that is missing or damaged is ignored.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

FILE = "marker"
_LINE = re.compile(rb"quizglass 1 ([0-9a-f]{32}) ([0-9]{20}) (open|shut) ([0-9a-f]{8})\n")


@dataclass(frozen=True, slots=True)
class ShutdownRecord:
    """Which store was used, up to which commit, and whether it was closed in order."""

    store: str
    sequence: int
    closed: bool
    """Whether the server closed the store in order."""


def read_flag(directory: Path) -> ShutdownRecord | None:
    """What the flag of a knowledge directory says; None when it is missing or damaged."""
    try:
        line = (directory / FILE).read_bytes()
    except OSError:
        return None
    match = _LINE.fullmatch(line)
    if match is None or int(match[4], 16) != zlib.crc32(line[:-9]):
        return None
    return ShutdownRecord(match[1].decode(), int(match[2]), match[3] == b"shut")


class CleanShutdownFlag:
    """Writes the flag of one directory, on the thread that writes the database."""

    def __init__(self, directory: Path) -> None:
        """Open the file, creating it. Raises OSError."""
        self._descriptor = os.open(directory / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, mark: ShutdownRecord) -> None:
        """Replace what it says; the lines are all of one length. Raises OSError."""
        words = b"quizglass 1 %s %020d %s " % (mark.store.encode(), mark.sequence, b"shut" if mark.closed else b"open")
        line = words + b"%08x\n" % zlib.crc32(words)
        os.pwrite(self._descriptor, line, 0)
        if mark.closed:
            os.ftruncate(self._descriptor, len(line))
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file. Once only."""
        os.close(self._descriptor)
