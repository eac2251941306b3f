"""A policy that is written in the test, and what is read out of the events that it brings about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from quizglass.values import TurnEvent
from quizglass_server.domain.state import Draft
from quizglass_server.policies.tools import Tools

Run = Callable[[Tools], Awaitable[Draft]]


class Scripted:
    """A policy that does what a test says."""

    name = "scripted"
    needs: tuple[str, ...] = ("generator",)
    likes: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    ending: tuple[str, ...] = ("generate",)

    def __init__(self, run: Run) -> None:
        self.answer = run


def of(kind: type, events: Sequence[TurnEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
