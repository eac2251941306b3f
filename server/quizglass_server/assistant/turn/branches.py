"""The round and the branch of its turn in which something happens; both travel with the task.

A policy that searches again begins another round; one that does two things at the same time goes on in two branches.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from quizglass_server.scheduling.at_once import at_once, closing_unbegun

Result = TypeVar("Result")

_round: ContextVar[int] = ContextVar("round", default=0)
_branch: ContextVar[str] = ContextVar("branch", default="")


def current_round() -> int:
    """The current task's round: 1, 2, ...; 0 outside of rounds."""
    return _round.get()


def current_branch() -> str:
    """The current task's branch: "1", "2", in the first "1.1", ...; empty where there is but one."""
    return _branch.get()


@contextmanager
def in_rounds() -> Iterator[ContextVar[int]]:
    """A block that goes through rounds, which it sets itself."""
    outer = _round.get()
    try:
        yield _round
    finally:
        _round.set(outer)


async def in_branches(work: Sequence[Awaitable[Result]]) -> list[Result]:
    """`at_once`, each in a branch of its own."""

    async def follow(one: Awaitable[Result], number: int) -> Result:
        outer = _branch.get()
        _branch.set(f"{outer}.{number}" if outer else str(number))
        return await one

    with closing_unbegun(work):
        return await at_once([follow(one, number) for number, one in enumerate(work, 1)])
