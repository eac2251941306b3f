"""Which stage a turn is in, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic


class StageWatch:
    """The stages of one turn that run, each by its name."""

    def __init__(self) -> None:
        self._running: dict[object, tuple[str, float]] = {}

    @property
    def latest(self) -> tuple[str, float] | None:
        """The stage that began last, and when (monotonic seconds); None when none runs."""
        return next(reversed(self._running.values()), None)

    @contextmanager
    def running(self, stage: str) -> Iterator[None]:
        """A stage runs for the block."""
        key = object()
        self._running[key] = stage, monotonic()
        try:
            yield
        finally:
            del self._running[key]


_watch: ContextVar[StageWatch | None] = ContextVar("stage_watch", default=None)


@contextmanager
def watching(watch: StageWatch) -> Iterator[None]:
    """Stages that begin in the block, and in tasks begun there, are noted in `watch`."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@contextmanager
def noted(stage: str) -> Iterator[None]:
    """Note a stage for the block, where stages are watched."""
    watch = _watch.get()
    if watch is None:
        yield
        return
    with watch.running(stage):
        yield
