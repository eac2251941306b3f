"""What is asked of a running server, again where it has no room."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from quizglass_client import Client, Overloaded
from quizglass_client.types import Event

MOST_WAITS = 60
Result = TypeVar("Result")


def with_room(ask: Callable[[], Result]) -> Result:
    """What a call gives, which is made again while the server has no room; Overloaded where it had none for long, or
    never has."""
    for _ in range(MOST_WAITS):
        try:
            return ask()
        except Overloaded as error:
            if error.retry_after is None:
                raise
            time.sleep(error.retry_after)
    return ask()


def served_turn(
    client: Client,
    question: str,
    picture: Path | None,
    history: Sequence[tuple[str, str]],
    *,
    policy: str,
    budget: float,
    explain: bool = False,
) -> list[Event]:
    """All events of a turn; ClientError where it fails, or there was no room for long."""
    return with_room(
        lambda: list(client.ask(question, picture, history=history, policy=policy, budget=budget, explain=explain))
    )
