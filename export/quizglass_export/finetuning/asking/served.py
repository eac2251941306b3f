"""Turns of a running server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from quizglass_client import Client, Overloaded
from quizglass_client.types import Event

MOST_WAITS = 60


def served_turn(
    client: Client,
    question: str,
    picture: Path | None,
    history: Sequence[tuple[str, str]],
    *,
    policy: str,
    budget: float,
) -> list[Event]:
    """All events of a turn; where the server has no room, it is asked again.

    Raises:
        ClientError: the turn fails, or there was no room for long.
    """
    for _ in range(MOST_WAITS):
        try:
            return list(client.ask(question, picture, history=history, policy=policy, budget=budget))
        except Overloaded as error:
            time.sleep(1.0 if error.retry_after is None else error.retry_after)
    return list(client.ask(question, picture, history=history, policy=policy, budget=budget))
