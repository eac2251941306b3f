"""Stores on the disk: filled here, and owned by another process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.knowledge.fakes import open_base, pictured, stream

_ROOT = Path(__file__).parents[3]


def on_small_disk(directory: Path, mebibytes: int = 2) -> tuple[str, ...]:
    """Words before a command that give it a disk of its own at a directory, which it alone sees."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("no file systems can be mounted here")
    mount = f'mount -t tmpfs -o size={mebibytes}m,mode=777 none "$0" && exec "$@"'
    return ("unshare", "-rm", "sh", "-c", mount, str(directory))


@contextmanager
def another(*words: object, module: str = "process", start: Sequence[object] = ()) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns a store."""
    child = subprocess.Popen(
        [*map(str, start), sys.executable, "-m", f"tests.support.knowledge.{module}", *map(str, words)],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


async def add(directory: Path, *ids: str) -> None:
    """Add entries of these ids, with a text each, and close the store."""
    base = await open_base(directory)
    try:
        await base.add(stream(pictured(name, text=f"Text of {name}.") for name in ids))
    finally:
        await base.close()
