"""What commands share whose work takes long: a bar for its steps, and how it is stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

STOPPED = 130
"""Exit status of a command that was stopped."""
_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


@contextmanager
def stopping() -> Iterator[None]:
    """Within it SIGTERM raises KeyboardInterrupt as Ctrl-C does, so that what is unfinished is removed or noted."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def progress(names: Sequence[str]) -> Iterator[Callable[[str], None]]:
    """A bar on standard error for steps of these names; gives what is to be called with each as it starts.

    Another text is shown, and moves no bar: what a long step is at.
    """
    known = frozenset(names)
    with Progress(*_COLUMNS, console=Console(stderr=True)) as bars:
        task = bars.add_task("reading", total=len(names), completed=-1)
        yield lambda step: bars.update(task, advance=int(step in known), description=step)
        bars.update(task, completed=len(names), description="done")
