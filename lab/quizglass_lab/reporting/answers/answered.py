"""What a system answered to one question, what it found, how it came about and what it cost; and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from quizglass_lab.scoring.answers import refuses
from quizglass_lab.scoring.costs import TurnCost


class FoundEntry(BaseModel):
    """One entry that a search brought back; any of its names may be the one that a benchmark uses."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    source: str = ""
    """Address that the entry was made from."""
    search: Literal["", "image", "text"] = ""
    """The search that brought it first; empty: unknown."""
    used: bool = False
    """Whether the answering model was shown it."""


def each_once(entries: Iterable[FoundEntry]) -> tuple[FoundEntry, ...]:
    """Entries where they first stand, used where any of the same id is."""
    merged: dict[str, FoundEntry] = {}
    for entry in entries:
        before = merged.setdefault(entry.id, entry)
        if entry.used and not before.used:
            merged[entry.id] = before.model_copy(update={"used": True})
    return tuple(merged.values())


class Stage(BaseModel):
    """One timed step of a turn."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    seconds: float = Field(ge=0, allow_inf_nan=False)
    started: float | None = Field(None, allow_inf_nan=False)
    """Seconds since the turn began; None: unknown."""
    round: int = Field(0, ge=0)


class Decision(BaseModel):
    """One label that was chosen in a turn."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    by: str
    """Name of the decision, such as act or search_router."""
    label: str


@dataclass(frozen=True, slots=True)
class AnswerTrace:
    """How an answer came about; what is unknown is empty."""

    plan: str = ""
    """Which lookups were planned: none, image, text or both."""
    decisions: tuple[Decision, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()
    """Reformulated queries, round by round."""
    stages: tuple[Stage, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    """What the policy says of its answer, such as core-mmrag's `memory` and `external`."""

    def decided(self, by: str) -> tuple[str, ...]:
        """The labels of one decision, in order."""
        return tuple(each.label for each in self.decisions if each.by == by)


@dataclass(frozen=True, slots=True)
class Answered:
    """What a system answered, and what it took."""

    id: str
    answer: str
    refused: bool | None = None
    """Whether it said that it does not know; None: read from the answer."""
    found: tuple[FoundEntry, ...] | None = None
    """Entries, best first, each once; None: unknown."""
    cost: TurnCost = field(default_factory=TurnCost)
    trace: AnswerTrace = field(default_factory=AnswerTrace)

    @property
    def refuses(self) -> bool:
        """Whether it gave no answer."""
        return refuses(self.answer) if self.refused is None else self.refused


class AnswerLine(BaseModel):
    """One answer as a line of a file: `score` reads it, `evaluate` keeps it. Only `id` and `answer` are required."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    answer: str
    refused: bool | None = None
    found: tuple[str | FoundEntry, ...] | None = None
    """Entries, best first: ids or addresses, or objects that have more."""
    image_searches: int | None = Field(None, ge=0)
    text_searches: int | None = Field(None, ge=0)
    prompt_tokens: int | None = Field(None, ge=0)
    """Of all models that the turn asked."""
    answer_tokens: int | None = Field(None, ge=0)
    written_tokens: int | None = Field(None, ge=0)
    """Of all that was written: the answer, and the queries, drafts and reasons before it."""
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    plan: str = ""
    decisions: tuple[Decision, ...] = ()
    queries: tuple[tuple[str, ...], ...] = ()
    stages: tuple[Stage, ...] = ()
    notes: dict[str, str] = Field(default_factory=dict)

    def answered(self) -> Answered:
        """The line as the scorers take it."""
        found = None
        if self.found is not None:
            entries = [FoundEntry(id=each) if isinstance(each, str) else each for each in self.found]
            found = each_once(entries)
        searches = self.image_searches, self.text_searches
        cost = TurnCost(*searches, self.prompt_tokens, self.answer_tokens, self.seconds, self.written_tokens)
        trace = AnswerTrace(self.plan, self.decisions, self.queries, self.stages, self.notes)
        return Answered(self.id, self.answer, self.refused, found, cost, trace)
