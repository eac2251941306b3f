"""What a policy is."""

from __future__ import annotations

from typing import Protocol

from quizglass_server.steps.generate import Draft
from quizglass_server.toolbox import Toolbox


class Policy(Protocol):
    """A published system that runs a turn with the steps of a toolbox."""

    @property
    def name(self) -> str:
        """What clients ask for it by."""
        ...

    @property
    def roles(self) -> tuple[str, ...]:
        """Models it cannot do without. The reader is never among them: without it no printed words are known."""
        ...

    async def answer(self, tools: Toolbox) -> Draft:
        """Run the turn; the toolbox tells of every event on the way."""
        ...
