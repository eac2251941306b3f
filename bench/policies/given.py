"""Decisions and lines from the world's record, at the cost of the model that would make them.

So that the control flow of a policy can be measured apart from the errors of the models that decide in it, a
`GivenGenerator` stands before the generator and a `GivenDecider` before each decider. A decider runs on its own prompt;
where the bundle has none, the generator prefills its prompt for plans and chooses a letter; for lines it writes a
rewriting; and what they say is replaced by what the record says. Answers of every kind are the generator's own, from
the prompts that the bundle has for them, and so is the planner's plan.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from time import perf_counter
from typing import Any, cast

from quizglass.values import Plan
from quizglass_bundle.inputs.prompts import Values
from quizglass_lab.pocketworld.question import Hop
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.answers import exact_match
from quizglass_server.domain.turns import GenerationEnd, Picture, Token
from quizglass_server.policies.cogplanner import Action
from quizglass_server.policies.cogplanner_baselines import Grade
from quizglass_server.policies.core_mmrag import TOP_ENTRIES, Entry
from quizglass_server.policies.omnisearch import Next
from quizglass_server.policies.qa_dragon import Branch, Judgement, Same, Subject
from quizglass_server.roles.decider import Decider
from quizglass_server.roles.generator import GenerationRequest, Generator

PLANNING = ("reformulate", "act")
"""Tasks of CogPlanner's planning."""
_OWN = {"answer", "draft", "reason", "conclude", "conclude_from_reason", "weigh", "reconcile", "rewrite", "plan"}
"""Answers, what leads to them, and plans are never given."""
_LATE = {"words", "tags", "domain"}
"""Text read in a picture while a decision is under way, which is then made again from the same state."""
_LETTERS = 4
"""Of the prompt for plans."""


@dataclass
class Record:
    """What is right about one question, asked for step by step."""

    question: Question
    taken: dict[str, int] = field(default_factory=dict)
    """How often each task was asked for."""
    decided: dict[tuple[str, str], Enum] = field(default_factory=dict)
    """By task and state."""

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The lookups that lead to the answer."""
        return self.question.hops

    def next(self, task: str) -> Hop | None:
        """The hop whose turn it is for a task; None behind the last."""
        place = self.taken.get(task, 0)
        self.taken[task] = place + 1
        return self.hops[place] if place < len(self.hops) else None

    @property
    def texts(self) -> list[str]:
        """Queries of its text hops."""
        return [hop.query for hop in self.hops if hop.action == "text"]

    @property
    def plan(self) -> Plan:
        """The searches of its hops."""
        image, text = (any(hop.action == action for hop in self.hops) for action in ("image", "text"))
        return {(False, False): Plan.NONE, (True, False): Plan.IMAGE, (False, True): Plan.TEXT}.get(
            (image, text), Plan.BOTH
        )


def _named(record: Record, values: Values) -> int | None:
    """Place of the target's entry among those that the prompt shows."""
    seen = values.get("seen")
    shown = seen if isinstance(seen, Sequence) else ()
    target = next((hop.answer for hop in record.hops if hop.action == "image"), record.question.image_answer)
    return next((place for place, text in enumerate(shown) if str(text).startswith(f"{target}:")), None)


def _select(record: Record, values: Values) -> Entry:
    place = _named(record, values)
    return Entry.NONE if place is None or place >= TOP_ENTRIES else list(Entry)[place]


def _act(record: Record, _: Values) -> Action:
    hop = record.next("act")
    return Action(hop.action) if hop else Action.NONE


def _next(record: Record, _: Values) -> Next:
    hop = record.next("next")
    return Next(hop.action) if hop else Next.ANSWER


def _grade(record: Record, _: Values) -> Grade:
    return Grade.NOT_ENOUGH if record.taken.get("again", 0) < len(record.texts) else Grade.ENOUGH


def _judged(record: Record, values: Values) -> Judgement:
    """What differs from the right answer is not supported."""
    question = record.question
    right = exact_match(str(values.get("answer", "")), question.answer, question.aliases)
    return Judgement.SUPPORTED if right else Judgement.UNSUPPORTED


Decide = Callable[[Record, Values], Enum]
_DECISIONS: dict[str, Decide] = {
    "act": _act,
    "next": _next,
    "grade": _grade,
    "select": _select,
    "select_by_text": _select,
    "search_router": lambda record, _: Branch.RAG if record.hops else Branch.DIRECT,
    "tool_router": lambda record, _: record.plan,
    "subject": lambda *_: Subject.OTHER,
    "entity": lambda record, values: Same.NO if _named(record, values) is None else Same.YES,
    "verifier": _judged,
}


def _asked(task: str) -> Callable[[Record], list[str]]:
    """The query of the next hop, and of the last one behind it."""

    def lines(record: Record) -> list[str]:
        hop = record.next(task) or (record.hops[-1] if record.hops else None)
        return [hop.query] if hop else [record.question.text]

    return lines


def _again(record: Record) -> list[str]:
    place = record.taken.get("again", 0)
    record.taken["again"] = place + 1
    return record.texts[place : place + 1]


_LINES: dict[str, Callable[[Record], list[str]]] = {
    "reformulate": _asked("reformulate"),
    "ask": _asked("ask"),
    "again": _again,
    "split": lambda record: record.texts,
    "complete": lambda record: record.texts,
    "objects": lambda record: [placed.thing.kind for placed in record.question.scene.things],
    "object": lambda record: [record.question.image_query.removeprefix("What is ").removesuffix(" called?")],
    "think": lambda record: [record.question.image_query],
}


@dataclass(frozen=True)
class Span:
    """When a task ran, in seconds of `perf_counter`."""

    task: str
    began: float
    ended: float


class GivenGenerator:
    """The bundle's generator, with what it has not learned given by the record; one question at a time.

    Args:
        generator: the bundle's own.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._record: Record | None = None
        self.spans: list[Span] = []
        """Of the question under way, or of the last."""

    @contextmanager
    def about(self, question: Question) -> Iterator[None]:
        """Give what the record says of a question, while it is asked."""
        self._record, self.spans = Record(question), []
        try:
            yield
        finally:
            self._record = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    async def forget(self) -> None:
        """As the generator does."""
        await self._generator.forget()

    @property
    def needs(self) -> frozenset[str]:
        """As the prompts that are written."""
        return self._generator.needs

    @property
    def sees_pictures(self) -> bool:
        """As the generator does."""
        return self._generator.sees_pictures

    def names(self, task: str) -> frozenset[str]:
        """As the prompt that is written for the task."""
        return self._generator.names(task)

    def shows_entries(self, task: str) -> bool:
        """As the prompt that is written for the task."""
        return self._generator.shows_entries(task)

    async def prepare(self, picture: Picture, known: Values | None = None) -> None:
        """As the generator does."""
        await self._generator.prepare(picture, known)

    async def read_ahead(self, request: GenerationRequest) -> None:
        """As the generator does."""
        await self._generator.read_ahead(request)

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        """The record's label, after the generator chose a letter."""
        label = self.decision(request.task, request.values)
        if label is None:
            return await self._generator.choose(request, labels)
        with self.span(request.task):
            await self._generator.choose(replace(request, task="plan"), labels[:_LETTERS])
        return [1.0 if each is label else 0.0 for each in type(label)]

    async def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        """The record's lines, after the generator wrote a rewriting; answers as the generator writes them."""
        if request.task in _OWN or self._record is None:
            async with self._written(request, request.task) as pieces:
                async for piece in pieces:
                    yield piece
            return
        text = "\n".join(_LINES[request.task](self._record))
        with self.span(request.task):
            end = None
            async with self._written(request, "rewrite") as pieces:
                async for piece in pieces:
                    end = piece
        yield Token(text, 1.0)
        if isinstance(end, GenerationEnd):
            yield end

    def _written(self, request: GenerationRequest, task: str) -> aclosing[AsyncGenerator[Token | GenerationEnd, None]]:
        """The generator's own completion of another prompt, closed with its last reader."""
        pieces = self._generator.generate(replace(request, task=task))
        return aclosing(cast(AsyncGenerator[Token | GenerationEnd, None], pieces))

    def decision(self, task: str, values: Values) -> Enum | None:
        """What the record decides; None where it says nothing of this task, or nothing is asked."""
        if task not in _DECISIONS or self._record is None:
            return None
        return _DECISIONS[task](self._record, values)

    def settled(self, task: str, values: Values) -> Enum | None:
        """The same, which stays what it is when it is asked about the same state again."""
        state = task, repr([(name, values[name]) for name in sorted(values) if name not in _LATE])
        record = self._record
        if record is not None and state in record.decided:
            return record.decided[state]
        label = self.decision(task, values)
        if record is not None and label is not None:
            record.decided[state] = label
        return label

    @contextmanager
    def span(self, task: str) -> Iterator[None]:
        """Note when a task ran."""
        began = perf_counter()
        try:
            yield
        finally:
            self.spans.append(Span(task, began, perf_counter()))


class GivenDecider:
    """A decider of the bundle, whose choice is given by the record of the question under way.

    Args:
        decider: the bundle's own.
        role: its name, such as `act`.
        given: what knows the question.
    """

    def __init__(self, decider: Decider, role: str, given: GivenGenerator) -> None:
        self._decider, self._role, self._given = decider, role, given

    @property
    def executor(self) -> str:
        """As the decider's."""
        return self._decider.executor

    @property
    def needs(self) -> frozenset[str]:
        """As the decider's prompt."""
        return self._decider.needs

    @property
    def shows_several(self) -> bool:
        """As the decider's prompt."""
        return self._decider.shows_several

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        """The record's label, after the decider chose one."""
        label = self._given.settled(self._role, values)
        if label is None:
            return await self._decider.probabilities(pictures, values)
        with self._given.span(self._role):
            chosen = await self._decider.probabilities(pictures, values)
        return [(name, 1.0 if name == label.value else 0.0) for name, _ in chosen]

    async def look_at(self, picture: Picture) -> None:
        """As the decider does."""
        await self._decider.look_at(picture)


def busy_s(spans: Sequence[Span], tasks: Sequence[str]) -> float:
    """Seconds in which at least one of these tasks ran."""
    total, until = 0.0, float("-inf")
    for span in sorted((each for each in spans if each.task in tasks), key=lambda each: each.began):
        total += max(0.0, span.ended - max(span.began, until))
        until = max(until, span.ended)
    return total
