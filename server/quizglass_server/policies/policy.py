"""What a policy is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from quizglass_server.domain.state import Draft
from quizglass_server.policies.tools import Tools

_BESIDE = {"image_encoder": ("detector",), "text_encoder": ("reranker", "coarse_reranker")}
"""By the role that a search needs, those that make it better."""


QUOTES = "weigh"
"""The step, in `Policy.ending`, of a policy whose answers are quotes."""


def liked(needs: Sequence[str], *more: str) -> tuple[str, ...]:
    """What a policy of these needs likes: more, what its searches use, and the reader of printed words.

    The verifier is not among them: where a policy does not ask it itself (`Policy.tasks`), it judges at the end of any
    turn.
    """
    beside = (role for need in (*needs, *more) for role in _BESIDE.get(need, ()))
    return tuple(role for role in dict.fromkeys((*more, *beside, "reader")) if role not in needs)


class Policy(Protocol):
    """A system that runs a turn with the verbs of `Tools`.

    One with a true attribute `published` is a paper's system, and gets nothing from the verbs that its paper does not
    have (`Toolbox`). One with a true attribute `words_later` has the picture's printed words read first only where the
    question may be about them, and asks for them itself elsewhere (`Tools.read_words`).
    """

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

    @property
    def ending(self) -> tuple[str, ...]:
        """Names of the steps that write the answer, in order: all before them leave time for them.

        What is streamed by `Tools.answer` or `Tools.attempt` is "generate", what `Tools.write` makes of the prompt
        "answer" is "draft", of another prompt that prompt's name, and what `Tools.quote` chooses "weigh".
        """
        ...

    async def answer(self, tools: Tools) -> Draft:
        """Run the turn; the tools tell of every event on the way."""
        ...


def by_name(policies: Iterable[Policy]) -> dict[str, Policy]:
    """Policies by their names.

    Raises:
        TypeError: one does not say which steps write its answer, or names one that it cannot run.
    """
    named = {policy.name: policy for policy in policies}
    for name, policy in named.items():
        ending, steps = getattr(policy, "ending", ()), ("generate", "draft", QUOTES, *policy.tasks)
        if not ending or not set(ending) <= set(steps):
            raise TypeError(f"policy {name!r}: its `ending` has to name steps of {', '.join(steps)}; it is {ending!r}")
    return named
