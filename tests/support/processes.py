"""The processes that a process started, as the system tells it, and a process that can open nothing more."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quizglass_server import descriptors


def children(pid: int) -> list[int]:
    """Its children that have not ended.

    Every process is asked for its parent: lists of children belong to threads, which may end, and may leave one out
    whose sibling ends meanwhile.
    """
    everybody = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [other for other in everybody if _parent(other) == pid]


def generator_of(pid: int) -> int | None:
    """A server's generator process, if it has one right now."""
    return next(iter(running(pid, "--slot-save-path")), None)


def decoders_of(pid: int) -> list[int]:
    """A server's processes that decode pictures."""
    return running(pid, "quizglass_server.decoding.worker")


def holds_open(pid: int, file: Path) -> bool:
    """Whether a process has a file open right now."""
    with suppress(OSError):  # one was closed meanwhile
        return any(Path(link).samefile(file) for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has had."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


async def computing(pid: int, seconds: float = 0.1) -> None:
    """Wait until a process has had so much more processor time; AssertionError where it ends before."""
    began = processor_s(pid)
    while processor_s(pid) < began + seconds:
        assert _parent(pid) is not None, f"process {pid} ended before it had {seconds} s more of a processor"
        await asyncio.sleep(0.01)


async def decoding(pid: int, seconds: float = 0.5) -> None:
    """Wait until one of a server's decoders has had so much processor time since it was first seen.

    On a busy machine a picture may not be done when its turn is, and a decoder gives way to the next one.
    """
    began: dict[int, float] = {}
    while True:
        for each in decoders_of(pid):
            if processor_s(each) >= began.setdefault(each, processor_s(each)) + seconds:
                return
        await asyncio.sleep(0.01)


def running(pid: int, program: str) -> list[int]:
    """Its children whose command line names a module or a file."""
    return [child for child in children(pid) if program.encode() in _read(child, "cmdline")]


def _parent(pid: int) -> int | None:
    # The name in brackets may have anything in it.
    state, parent = (_read(pid, "stat").rpartition(b")")[2].split() or (b"X", b"0"))[:2]
    return None if state in b"ZX" else int(parent)


def _read(pid: int, name: str) -> bytes:
    """A file of a process; nothing of one that is gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


@contextmanager
def no_descriptors(left: int = 0) -> Iterator[None]:
    """Nothing more can be opened than so many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors.in_use() + 60, hard))
    taken: list[int] = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(left):
            os.close(taken.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in taken:
            os.close(each)
