"""What tests of verbs share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from quizglass.values import TurnEvent
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.policies import POLICIES
from tests.support.scripted_policy import Run, Scripted
from tests.support.turn_fakes import World


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[list[TurnEvent]]]:
    """Asks a world's question of a policy that is written in the test."""

    async def asked(world: World, run: Run, **kwargs: Any) -> list[TurnEvent]:
        monkeypatch.setitem(POLICIES, "scripted", Scripted(run))
        world.assistant = Assistant(world.resources)
        return await world.ask(policy="scripted", **kwargs)

    return asked
