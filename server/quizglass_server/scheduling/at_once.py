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

    Args:
        work: what to wait for; the results are in its order.
    """

    async def follow(one: Awaitable[Result]) -> Result:
        return await one

    with closing_unbegun(work):
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(follow(one)) for one in work]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


@contextmanager
def closing_unbegun(work: Sequence[Awaitable[object]]) -> Iterator[None]:
    """A block after which no coroutine is left that was never begun: that would complain."""
    try:
        yield
    finally:
        for one in work:
            if inspect.iscoroutine(one):
                one.close()
