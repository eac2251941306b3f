"""Several things at the same time, of which none outlives the call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


async def at_once(work: Sequence[Awaitable[Result]]) -> list[Result]:
    """Do things at the same time; if one fails, the others end and its error is raised as it is.

    `asyncio.TaskGroup` does this too, but until Python 3.13 its frame and the error that goes through it refer to each
    other: a turn that was cancelled within would stay in memory, with its picture, until garbage is collected.

    Args:
        work: what to wait for; the results are in its order.
    """

    async def follow(one: Awaitable[Result]) -> Result:
        return await one

    if not work:
        return []
    with closing_unbegun(work):
        tasks = [asyncio.create_task(follow(one)) for one in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await _ended(tasks)
    error = next(filter(None, (task.exception() for task in tasks if not task.cancelled())), None)
    if error is not None:
        try:
            raise error
        finally:
            del error, tasks  # the error refers to this frame, and each task to its error
    return [task.result() for task in tasks]


async def _ended(tasks: Sequence[asyncio.Task[Result]]) -> None:
    """Cancel what still runs and wait for its end, also while this is cancelled again."""
    cancelled = False
    for task in tasks:
        task.cancel()
    while running := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


@contextmanager
def closing_unbegun(work: Sequence[Awaitable[object]]) -> Iterator[None]:
    """A block after which no coroutine is left that was never begun: that would complain."""
    try:
        yield
    finally:
        for one in work:
            if inspect.iscoroutine(one):
                one.close()
