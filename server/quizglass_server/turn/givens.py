"""What is given from the start of a turn, and found out beside its first steps: words in the picture and the domain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from quizglass_server.domain.state import Note, State
from quizglass_server.domain.turns import Evidence, Origin, Turn
from quizglass_server.models.prompts import Value
from quizglass_server.steps.prompt_values import prompt_values
from quizglass_server.steps.read import asks_to_read, domain_of, find_words, read_words
from quizglass_server.turn.journal import Journal
from quizglass_server.turn.resources import Resources
from quizglass_server.turn.runner import StepRunner


class Givens:
    """Words and domain, each found out once, and the prompts that are filled with them.

    Args:
        turn: the question.
        runner: runs the steps.
        resources: has the words of pictures seen before, and what fills roles.
        journal: takes the words as evidence.
        while_reading: called when words begin to be read, which takes a while.
    """

    def __init__(
        self, turn: Turn, runner: StepRunner, resources: Resources, journal: Journal, while_reading: Callable[[], None]
    ) -> None:
        self._turn = turn
        self._runner = runner
        self._resources = resources
        self._journal = journal
        self._while_reading = while_reading
        self._asked_to_read = asks_to_read(turn.question)
        self._words = runner.begin(self._read())
        asked = turn.picture is not None and turn.question  # before there is a question, there is nothing to name
        routed = asked and resources.filling(domain_of.role) is not None
        self._domain = runner.begin(self._name_domain()) if routed else None

    async def values(self, state: State, also: Mapping[str, Note]) -> dict[str, Value]:
        """What a prompt may name, when all of it is there."""
        words = await self.words()
        return prompt_values(self._turn, words, await self._named_domain(), state, also)

    async def without_words(self, state: State, also: Mapping[str, Note]) -> dict[str, Value] | None:
        """The same as if the picture showed no words, while it is not known whether it does.

        None where that is known, and where there are likely to be words: the question is about them.
        """
        picture = self._turn.picture
        if picture is None or self._asked_to_read or self._resources.filling(find_words.role) is None:
            return None
        if self._words.done() or self._resources.words.get(picture.sha256) is not None:
            return None
        return prompt_values(self._turn, "", await self._named_domain(), state, also)

    async def _named_domain(self) -> str:
        return "" if self._domain is None else await asyncio.shield(self._domain)

    async def words(self) -> str:
        """Words in the picture, once they are read; empty when there are none or they could not be read."""
        return await asyncio.shield(self._words)

    async def _name_domain(self) -> str:
        picture = self._turn.picture
        return "" if picture is None else await self._runner.run(domain_of, picture, self._turn.question) or ""

    async def _read(self) -> str:
        """Words in the picture, which are evidence; empty when there are none or they could not be read."""
        picture = self._turn.picture
        if picture is None:
            return ""
        words = self._resources.words.get(picture.sha256)
        if words is None:
            words = await self._look_for_words()
            if words is None:
                return ""
            self._resources.words.put(picture.sha256, words)
        if words:
            self._journal.came_along(Evidence("", Origin.READ_TEXT, "", "", words, used=True))
        return words

    async def _look_for_words(self) -> str | None:
        """The words; None when nobody read them, for want of time or of words.

        The gate decides whether and where they are looked for, unless the question is about them.
        """
        picture = self._turn.picture
        if picture is None or self._resources.filling(read_words.role) is None:
            return None
        part = None
        if not self._asked_to_read:
            parts = await self._runner.run(find_words, picture)
            if parts == []:
                return None
            part = parts[0] if parts else None
        self._while_reading()
        return await self._runner.run(read_words, picture, part)
