"""The verbs of a turn, scripted: what a policy calls is written down with its round and branch, and nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from quizglass.values import AbstainReason, AnswerKind, FinishReason, Origin, Plan
from quizglass_server.domain.state import Draft, Note, State
from quizglass_server.domain.turns import Evidence

Label = TypeVar("Label", bound=Enum)
One = TypeVar("One")
Two = TypeVar("Two")

QUESTION = "Where was the founder of the maker of this car born?"

Script = str | Sequence[str] | None
"""What a task gives: a label or a text, lines, or None when there is no time for it."""
Scripts = Sequence[Script]
"""Of one task, a value a call."""


@dataclass(frozen=True)
class Call:
    """One use of a verb."""

    verb: str
    name: str
    state: State
    also: Mapping[str, Note]
    round: int = 0
    branch: str = ""

    def __str__(self) -> str:
        place = f"{self.round or ''}{self.branch}"
        return " ".join(part for part in (place, self.verb, self.name) if part)


def seen(*titles: str) -> list[Evidence]:
    """What an image search brings back."""
    return [
        Evidence(str(at), Origin.IMAGE_SEARCH, title.casefold(), title, f"{title} is a red car.", used=True)
        for at, title in enumerate(titles, 1)
    ]


def passages(queries: Sequence[str]) -> list[Evidence]:
    """What a text search brings back: one passage a query."""
    return [
        Evidence(query, Origin.TEXT_SEARCH, query.casefold(), query, f"about {query}", used=True) for query in queries
    ]


def titles(evidence: Sequence[Evidence]) -> list[str]:
    """Of evidence, in its order."""
    return [item.title for item in evidence]


class ScriptedTools:
    """Labels, lines and texts by task, in turn; a task without a script behaves as when there is no time for it.

    Args:
        pictures: what every image search brings back.
        texts: whether text searches bring anything back.
        found: what they bring back; None: a passage a query.
        question: what is asked.
        rounds: how many rounds fit.
        most_rounds: how many the bundle allows; None: it does not say.
        reads_entries: whether entries tell more than their captions.
        finds_pictures: whether prompts show pictures that a text finds.
        sees_pictures: whether the generator is shown the picture.
        pictured: whether the question came with one.
        searches_text: whether there is anything to search by text.
        named: what the question names of the picture.
        tags: what a classifier says of the picture.
        unsure: texts whose tokens are not certain.
        guessed: texts that are not remembered surely.
        words: whether the picture has printed words that were left unread.
        printed: those words, as they are read out.
        scripts: by task, one value a call.
    """

    def __init__(
        self,
        *,
        pictures: Sequence[Evidence] = (),
        texts: bool = True,
        found: Sequence[Evidence] | None = None,
        question: str = QUESTION,
        rounds: int = 99,
        most_rounds: int | None = None,
        unsure: Sequence[str] = (),
        guessed: Sequence[str] = (),
        reads_entries: bool = True,
        finds_pictures: bool = False,
        sees_pictures: bool = False,
        pictured: bool = True,
        searches_text: bool = True,
        named: tuple[str, ...] = (),
        tags: tuple[str, ...] = (),
        words: bool = False,
        printed: str = "",
        **scripts: Scripts,
    ) -> None:
        self.printed = printed
        self.reads_entries = reads_entries
        self.finds_pictures = finds_pictures
        self.sees_pictures = sees_pictures
        self.pictured = pictured
        self.searches_text = searches_text
        self.named = named
        self._tags = tags
        self._words = words
        self.weighed_words: list[bool] = []
        """Of each quote, whether lines of words in the picture were weighed for it."""
        self._pictures, self._texts = pictures, texts
        self._found, self._question = found, question
        self._fitting = rounds
        self.most_rounds = most_rounds
        self._unsure, self._guessed = unsure, guessed
        self._last_round = 0
        self._scripts = {task: list(values) for task, values in scripts.items()}
        self._place: ContextVar[tuple[int, str]] = ContextVar("place", default=(0, ""))
        self.made: list[Call] = []
        self.given: list[tuple[Draft, bool]] = []
        """Drafts told, and whether provisionally."""
        self.shown: list[Evidence] = []
        """Entries that answers may cite."""
        self.most_at_once = 0
        self._running = 0

    @property
    def calls(self) -> list[str]:
        """Every call as text: round and branch, verb, task."""
        return [str(call) for call in self.made]

    def of(self, name: str) -> list[Call]:
        """The calls of a task or verb."""
        return [call for call in self.made if name in (call.verb, call.name)]

    def _note(self, verb: str, name: str, state: State, also: Mapping[str, Note]) -> None:
        self.made.append(Call(verb, name, state, also, *self._place.get()))

    async def _next(self, verb: str, name: str, state: State, also: Mapping[str, Note]) -> Script:
        self._note(verb, name, state, also)
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        await asyncio.sleep(0)  # a branch beside this one begins meanwhile
        self._running -= 1
        waiting = self._scripts.get(name or verb, [])
        return waiting.pop(0) if waiting else None

    def start(self) -> State:
        return State(self._question)

    def fixed(self, plan: Plan) -> Plan:
        self._note("fixed", plan.value, self.start(), {})
        return plan

    async def decide(self, labels: type[Label], state: State, *, by: str, otherwise: Label, **also: Note) -> Label:
        label = await self._next("decide", by, state, also)
        return otherwise if label is None else labels(label)

    async def write(self, task: str, state: State, **also: Note) -> Draft:
        return self._draft(await self._next("write", task, state, also))

    async def from_memory(self) -> Draft:
        return await self.write("answer", self.start())

    async def lines(self, task: str, state: State, **also: Note) -> list[str]:
        return await self._listed("lines", task, state, also) or []

    async def queries(self, task: str, state: State, **also: Note) -> list[str]:
        lines = await self._listed("queries", task, state, also)
        return list(state.asked) if lines is None else lines

    async def rewrite(self, state: State) -> list[str]:
        lines = await self._listed("rewrite", "", state, {})
        return list(state.asked) if lines is None else lines

    async def _listed(self, verb: str, task: str, state: State, also: Mapping[str, Note]) -> list[str] | None:
        lines = await self._next(verb, task, state, also)
        return None if lines is None else list(dict.fromkeys(filter(None, lines)))

    async def answer(self, state: State, task: str = "answer", **also: Note) -> Draft:
        return self._draft(await self._next("answer", task, state, also))

    async def attempt(self, state: State) -> tuple[Draft, bool]:
        draft = await self.answer(state)
        return draft, not self.abstains(draft) if state.found else self.remembers(draft)

    def _draft(self, text: Script) -> Draft:
        if text is None:
            return Draft()
        assert isinstance(text, str)
        return Draft(text, (0.9,), FinishReason.COMPLETE)

    def tell(self, draft: Draft, *, provisional: bool = False) -> Draft:
        self.given.append((draft, provisional))
        return draft

    def refuse(self, draft: Draft, reason: AbstainReason) -> Draft:
        return replace(draft, refused=draft.refused or reason)

    async def search_image(
        self, phrases: Sequence[str] = (), limit: int = 0, *, candidates: bool = False
    ) -> list[Evidence]:
        await self._next("search_image", _limited(phrases, limit), self.start(), {})
        if not candidates:
            self.shown += self._pictures[: limit or None]
        return list(self._pictures[: limit or None])

    async def disambiguate(self, entries: Sequence[Evidence]) -> list[Evidence]:
        return list(entries)

    def show(self, chosen: Sequence[Evidence]) -> list[Evidence]:
        self.shown += chosen
        return list(chosen)

    async def tags(self) -> tuple[str, ...]:
        return self._tags

    async def read_words(self) -> bool:
        if not self._words:
            return False
        self._words = False
        await self._next("read_words", "", self.start(), {})
        return True

    async def read_out(self) -> Draft:
        return Draft(self.printed, finish=FinishReason.COMPLETE, kind=AnswerKind.QUOTED)

    def expect_answer(self, state: State) -> None:
        """Nothing is read ahead."""

    async def read_entries(self, entries: Sequence[Evidence], query: str, limit: int = 0) -> list[Evidence]:
        name = _limited([entry.title for entry in entries], limit)
        await self._next("read_entries", f"{name} for {query}", self.start(), {})
        return passages([f"{entry.title}'s own" for entry in entries])

    async def own_texts(self, entries: Sequence[Evidence]) -> list[Evidence]:
        return await self.read_entries(entries, self._question)

    async def quote(self, evidence: Sequence[Evidence], *, printed: bool = False) -> Draft:
        self.weighed_words.append(printed)
        return self._draft(await self._next("quote", ", ".join(item.text for item in evidence), self.start(), {}))

    async def search_text(self, queries: Sequence[str], limit: int = 0, *, rerank: bool = True) -> list[Evidence]:
        name = _limited(queries, limit) + ("" if rerank else " as found")
        await self._next("search_text", name, self.start(), {})
        if self._found is not None:
            return list(self._found)
        return passages(queries) if self._texts else []

    async def search_pictures(self, queries: Sequence[str], limit: int = 0) -> list[Evidence]:
        await self._next("search_pictures", _limited(queries, limit), self.start(), {})
        return list(self._pictures[: limit or None])

    async def together(self, one: Awaitable[One], two: Awaitable[Two]) -> tuple[One, Two]:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(self._branch(one, "a"))
            second = group.create_task(self._branch(two, "b"))
        return first.result(), second.result()

    async def _branch(self, work: Awaitable[One], name: str) -> One:
        number, branch = self._place.get()
        self._place.set((number, branch + name))
        return await work

    def certain(self, draft: Draft) -> bool:
        return draft.text not in self._unsure

    def remembers(self, draft: Draft) -> bool:
        return not self.abstains(draft) and draft.text not in self._guessed

    def guessed(self, queries: Sequence[str]) -> bool:
        return any(query in self._guessed for query in queries)

    def abstains(self, draft: Draft) -> bool:
        return draft.text in ("", "I don't know")

    def rounds(self, most: int, *steps: str) -> Iterator[int]:
        before = self._last_round
        try:
            for number in range(1, min(most, self._fitting) + 1):
                self._last_round = before + number
                self._place.set((self._last_round, ""))
                yield number
        finally:  # a policy may leave in the middle of a round
            self._place.set((0, ""))

    @contextmanager
    def extra_round(self, *steps: str) -> Iterator[bool]:
        self._last_round += self._fitting > 0
        self._place.set((self._last_round, ""))
        try:
            yield self._fitting > 0
        finally:
            self._place.set((0, ""))


def _limited(searched: Sequence[str], limit: int) -> str:
    return " ".join(part for part in (", ".join(searched), f"<= {limit}" if limit else "") if part)
