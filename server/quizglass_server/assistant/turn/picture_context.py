"""What is found out beside a turn's steps, whatever its policy: printed words, tags and domain of its picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping
from typing import TypeVar

from quizglass.values import Origin
from quizglass_bundle.inputs.prompts import Value
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.resources import Resources, WordsRead, once
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.state import Note, State
from quizglass_server.domain.turns import Evidence, Picture, Turn
from quizglass_server.roles.reader import READER
from quizglass_server.roles.tagger import TAGGER
from quizglass_server.steps.prompt_values import prompt_values
from quizglass_server.steps.read import asks_to_read, domain_of, find_words, may_ask_for_words, read_words, tags_of

TAGS = "tags"
"""Name of the value."""
Given = TypeVar("Given")


class PictureContext:
    """Words, tags and domain, each found out once, and the prompts that are filled with them.

    Args:
        turn: the question.
        runner: runs the steps.
        resources: has the words and tags of pictures seen before, and what fills roles.
        journal: takes the words as evidence.
        while_reading: called when words begin to be read, which takes a while.
        words_later: whether words are left unread until `read`, unless they are known or asked about, or the reader
            reads every picture.
        published: whether the picture is not tagged.
    """

    def __init__(
        self,
        turn: Turn,
        runner: StepRunner,
        resources: Resources,
        journal: Journal,
        while_reading: Callable[[], None],
        *,
        words_later: bool = False,
        published: bool = False,
    ) -> None:
        self._published = published
        self._turn = turn
        self._runner = runner
        self._resources = resources
        self._journal = journal
        self._while_reading = while_reading
        self._asked_to_read = asks_to_read(turn.question)
        self._judged = asyncio.Event()
        self._words: asyncio.Task[str] | None = None
        self._lines: tuple[str, ...] = ()
        known = turn.picture is not None and resources.words.get(turn.picture.key) is not None
        reader = resources.models[READER]
        always = not words_later or (reader is not None and reader.reads_all)
        if known or always or may_ask_for_words(turn.question):
            self._reading()
        self._routed = turn.picture is not None and resources.filling(domain_of.role) is not None
        self._domain: asyncio.Task[str] | None = None
        self._tags: asyncio.Task[tuple[str, ...]] | None = None

    async def values(self, state: State, also: Mapping[str, Note], names: Container[str]) -> dict[str, Value]:
        """What a prompt may name, when all of it is there.

        Args:
            state: what has been found out.
            also: further values.
            names: those that the prompt does name; domain and tags are looked for when the first of them does.
        """
        naming, tagging = self._naming(state, names), self._tagging(names)
        words = await self.words()
        return prompt_values(self._turn, words, await _given(naming, ""), state, also, await _given(tagging, ()))

    async def without_words(
        self, state: State, also: Mapping[str, Note], names: Container[str]
    ) -> dict[str, Value] | None:
        """The same as if the picture showed no words, while it is not known whether it does.

        None where that is known, and where there are likely to be words: the question is about them.
        """
        picture = self._turn.picture
        if picture is None or self._asked_to_read or self._resources.filling(find_words.role) is None:
            return None
        if self._words is None or self._words.done() or self._resources.words.get(picture.key) is not None:
            return None
        naming, tagging = self._naming(state, names), self._tagging(names)
        return prompt_values(self._turn, "", await _given(naming, ""), state, also, await _given(tagging, ()))

    @property
    def shows_tags(self) -> bool:
        """Whether there is a picture, something that names what it shows, and a prompt that names it."""
        return self._can_tag and self._resources.models.prompts_name(TAGS)

    @property
    def _can_tag(self) -> bool:
        return not self._published and self._turn.picture is not None and self._resources.models[TAGGER] is not None

    def begin_tagging(self) -> asyncio.Task[tuple[str, ...]] | None:
        """Begin to find out what the picture is likely to show; None where nothing says it."""
        if self._can_tag and self._tags is None:
            self._tags = self._runner.begin(self._tag())
        return self._tags

    def routes(self, names: Container[str]) -> bool:
        """Whether a prompt that names these values shows the question's domain."""
        return self._routed and "domain" in names

    def _tagging(self, names: Container[str]) -> asyncio.Task[tuple[str, ...]] | None:
        """The task that finds the tags, if the prompt shows them."""
        return self.begin_tagging() if TAGS in names else None

    def _naming(self, state: State, names: Container[str]) -> asyncio.Task[str] | None:
        """The task that finds the domain; None where no prompt shows it, or the policy has said it."""
        if not self.routes(names) or "domain" in state.notes:
            return None
        self._domain = self._domain or self._runner.begin(self._name_domain())
        return self._domain

    async def ahead(self) -> dict[str, Value]:
        """Values of prompts that are the same for every question, but for one about printed words."""
        tags = list(await self.tags()) if self.shows_tags else []
        known: dict[str, Value] = {"words": await self.read(), "tags": tags}
        return known if self._routed else {**known, "domain": ""}

    async def words(self) -> str:
        """Words in the picture, once they are read; empty when there are none, or they are not to be read so far."""
        return "" if self._words is None else await asyncio.shield(self._words)

    async def read(self) -> str:
        """The same, read now if they were not so far."""
        return await asyncio.shield(self._reading())

    async def lines(self) -> tuple[str, ...]:
        """The same line by line; none when there are none."""
        await self.read()
        return self._lines

    def end(self) -> None:
        """Let go of tasks and of the turn's verbs, once nothing is found out any more.

        They refer to this in turn, and to the picture: until Python looks for garbage, that would stay in memory.
        """
        self._words = self._domain = self._tags = None
        self._while_reading = _nothing

    @property
    def unread(self) -> bool:
        """Whether words are left unread so far."""
        return self._words is None

    @property
    def reads(self) -> bool:
        """Whether words are being read."""
        return self._words is not None and not self._words.done()

    async def judged(self) -> None:
        """Wait until it is known whether words are read, which they may be from then on."""
        if self._words is not None:
            await self._judged.wait()

    def _reading(self) -> asyncio.Task[str]:
        """The task that reads."""
        if self._words is None:
            self._words = self._runner.begin(self._read())
            self._words.add_done_callback(lambda _: self._judged.set())
        return self._words

    async def tags(self) -> tuple[str, ...]:
        """What the picture is likely to show, likeliest first; none where nothing is likely."""
        return await _given(self.begin_tagging(), ())

    async def _tag(self) -> tuple[str, ...]:
        picture = self._turn.picture
        return () if picture is None else await once(self._resources.tags, picture, self._likely_tags) or ()

    async def _likely_tags(self, picture: Picture) -> tuple[str, ...] | None:
        weighed = await self._runner.run(tags_of, picture)
        return None if weighed is None else tuple(name for name, _ in weighed)

    async def _name_domain(self) -> str:
        picture = self._turn.picture
        return "" if picture is None else await self._runner.run(domain_of, picture, self._turn.question) or ""

    async def _read(self) -> str:
        """Words in the picture, which are evidence; empty when there are none or they could not be read."""
        picture = self._turn.picture
        if picture is None:
            return ""
        kept = self._resources.words.get(picture.key)
        if kept is None or (self._asked_to_read and not kept.whole):
            read = await self._look_for_words(picture)
            if read is not None:
                self._resources.words.put(picture.key, read)
            kept = read or kept
        if kept is None or not kept.lines:
            return ""
        self._lines = kept.lines
        self._journal.came_along(Evidence("", Origin.READ_TEXT, "", "", kept.text, used=True))
        return kept.text

    async def _look_for_words(self, picture: Picture) -> WordsRead | None:
        """The words; None when they were not read, for want of time or of words.

        The gate, which is asked once for a picture, decides whether and where they are looked for, unless the question
        is about them.
        """
        if self._resources.filling(read_words.role) is None:
            return None
        part = None
        if not self._asked_to_read:
            found = once(self._resources.text_regions, picture, lambda picture: self._runner.run(find_words, picture))
            if (parts := await found) == []:
                return None
            part = parts[0] if parts else None
        self._judged.set()
        self._while_reading()
        lines = await self._runner.run(read_words, picture, part)
        return None if lines is None else WordsRead(tuple(lines), whole=part is None or part.area == 1)


def _nothing() -> None:
    """No verb follows."""


async def _given(finding: asyncio.Task[Given] | None, otherwise: Given) -> Given:
    """The result of a task, or `otherwise` where there is none."""
    return otherwise if finding is None else await asyncio.shield(finding)
