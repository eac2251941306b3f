"""What a policy is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quizglass_server.domain.state import Draft
from quizglass_server.policies.tools import Tools

_BESIDE = {"image_encoder": ("detector",), "text_encoder": ("reranker", "coarse_reranker")}
"""By the role that a search needs, those that make it better."""


def liked(needs: Sequence[str], *more: str) -> tuple[str, ...]:
    """What a policy of these needs likes: more, what its searches use, and the reader of printed words.

    The verifier is not among them: where a policy does not ask it itself (`Policy.tasks`), it judges at the end of any
    turn.
    """
    beside = (role for need in (*needs, *more) for role in _BESIDE.get(need, ()))
    return tuple(role for role in dict.fromkeys((*more, *beside, "reader")) if role not in needs)


def ending(tasks: Sequence[str]) -> tuple[str, ...]:
    """Names of the steps that write a policy's answer, for which all before them leave time.

    Most stream it in one. QA-Dragon gives a reason and concludes, and self-reflective retrieval drafts, before either
    tells anything.
    """
    if "conclude" in tasks:
        return ("reason", "conclude")
    return ("draft",) if "grade" in tasks else ("generate",)


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
    def likes(self) -> tuple[str, ...]:
        """Roles that its verbs use where the bundle has them, and do without elsewhere; see `liked`."""
        ...

    @property
    def tasks(self) -> tuple[str, ...]:
        """What is to be written or decided besides the answer: each needs a decider or a prompt of that name."""
        ...

    async def answer(self, tools: Tools) -> Draft:
        """Run the turn; the tools tell of every event on the way."""
        ...
