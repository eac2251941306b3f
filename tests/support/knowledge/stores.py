"""Stores on the disk: filled here, and owned by another process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.knowledge.fakes import open_base, pictured, stream

_ROOT = Path(__file__).parents[3]


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
