"""The processes that a process started, as the system tells it; any of them may end while it is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


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
