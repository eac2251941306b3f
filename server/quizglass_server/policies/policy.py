"""What a policy is."""

from __future__ import annotations

from typing import Protocol

from quizglass_server.domain.state import Draft
from quizglass_server.policies.tools import Tools


class Policy(Protocol):
    """A published system that runs a turn with the verbs of `Tools`."""

    @property
    def name(self) -> str:
        """What clients ask for it by."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Roles that it cannot do without.

        The reader is never among them: without it no printed words are known.
        """
        ...

    @property
    def tasks(self) -> tuple[str, ...]:
        """What is to be written or decided besides the answer: each needs a decider or a prompt of that name."""
        ...

    async def answer(self, tools: Tools) -> Draft:
        """Run the turn; the tools tell of every event on the way."""
        ...
