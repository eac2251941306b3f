"""Kept prefixes on disk, so that a session survives a restart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from quizglass_server.engines.llama.engine import Engine

T = TypeVar("T")
Caller = Callable[[Callable[[], T]], Awaitable[T]]


async def save_states(engine: Engine, directory: Path, call: object) -> int:
    """Nothing is saved yet."""
    return 0


async def restore_states(engine: Engine, directory: Path, call: object) -> int:
    """Nothing is restored yet."""
    return 0
