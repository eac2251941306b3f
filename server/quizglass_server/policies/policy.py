"""What a policy is."""

from __future__ import annotations

from typing import Protocol

from quizglass_server.steps.generate import Draft
from quizglass_server.turn.toolbox import Toolbox


class Policy(Protocol):
    """A published system that runs a turn with the steps of a toolbox."""

    @property
    def name(self) -> str:
        """What clients ask for it by."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """What it cannot do without: roles, and parts of them that a bundle may leave out ("generator.prompts.plan").

        The reader is never among them: without it no printed words are known.
        """
        ...

    async def answer(self, tools: Toolbox) -> Draft:
        """Run the turn; the toolbox tells of every event on the way."""
        ...
