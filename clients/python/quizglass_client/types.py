"""What only the SDK has: what callers give, and what it gathers. All other values are `quizglass.values`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from quizglass import values
from quizglass.values import (
    Accepted,
    Done,
    Evidence,
    EvidenceFound,
    PlanMade,
    QueryRewritten,
    Refused,
    StepEnded,
    TurnEvent,
    Verdict,
)

if TYPE_CHECKING:
    from PIL import Image

    PictureLike: TypeAlias = bytes | bytearray | memoryview | str | Path | Image.Image
    """Encoded bytes, a path, or a Pillow image."""
else:
    # Without Pillow: annotations are read while messages become values, and Pillow need not be installed.
    PictureLike = bytes | bytearray | memoryview | str | Path | Any


class AskOptions(TypedDict, total=False):
    """What may be said with a question, of a client and of a session alike. Nothing of it has to be."""

    history: Sequence[tuple[str, str]]
    """Earlier questions about the same picture and their answers, oldest first; of a dialogue that the server knows,
    those since."""
    policy: str
    """One of `capabilities().policies`; empty: the server's default."""
    budget: float | None
    """Seconds to answer in; steps that no longer fit are skipped. In a session they begin once its turn has come and
    its picture is there. None: the server's `default_budget_s`."""
    max_answer_tokens: int
    """The answer has no more than these, 1 to `capabilities().limits["max_answer_tokens"]`; it is cut there. 0: the
    bundle's own limit."""
    session_id: str
    """A name of the dialogue, of the caller's choice, by which the memory finds it."""
    remember: bool
    """Whether the server may remember the picture, if it has a visual memory."""
    recall: bool
    """Whether "When did I last see this?" may be answered from that memory."""
    explain: bool
    """Whether every step is reported (`StepEnded`), with its inputs and results."""


@dataclass(frozen=True, slots=True)
class Entry(values.Entry):
    """One thing in the knowledge store. `pictures` are given when adding; `picture_sha256` comes back."""

    pictures: tuple[PictureLike, ...] = ()


class EntryFields(TypedDict, total=False):
    """What may be said of an entry beside its id, title, text and pictures; `Entry` says what it is."""

    caption: str
    kind: str
    source: str
    language: str
    text_format: str
    attributes: Mapping[str, str]
    time: int
    expires_after: int


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a turn."""

    turn_id: str
    seq: int
    elapsed: float
    """Seconds since the turn was accepted."""
    payload: TurnEvent

    @property
    def round(self) -> int:
        """In which round of a policy that looks up more than once: 1, 2, ...; 0 outside of rounds."""
        return self.payload.round

    @property
    def branch(self) -> str:
        """In which of the branches that a policy runs at once: "1", "2", in the first "1.1"; empty: in none."""
        return self.payload.branch


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole turn, once it is over."""

    turn_id: str
    done: Done
    accepted: Accepted | None = None
    plan: PlanMade | None = None
    query: QueryRewritten | None = None
    verdict: Verdict | None = None
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[StepEnded, ...] = ()
    """The steps of a turn asked for with `explain`, in the order in which they ended."""

    @property
    def text(self) -> str:
        """The answer."""
        return self.done.answer

    @property
    def session(self) -> bytes:
        """For the next question, to go on from here."""
        return self.done.session

    @property
    def abstained(self) -> bool:
        """Whether the answer is that it is not known."""
        return bool(self.done.abstain_reason)

    @classmethod
    def of(cls, events: Sequence[Event]) -> Answer:
        """Gather the events of one turn.

        Raises:
            ValueError: the last event is not `Done`, so the turn is not over.
        """
        last = events[-1] if events else None
        if last is None or not isinstance(last.payload, Done):
            raise ValueError("the turn ended without a done event")
        found: dict[type, TurnEvent] = {type(event.payload): event.payload for event in events}
        evidence = [
            item for event in events if isinstance(event.payload, EvidenceFound) for item in event.payload.items
        ]
        return cls(
            last.turn_id,
            last.payload,
            found.get(Accepted),  # type: ignore[arg-type]  # keyed by its own type
            found.get(PlanMade),  # type: ignore[arg-type]
            found.get(QueryRewritten),  # type: ignore[arg-type]
            found.get(Verdict),  # type: ignore[arg-type]
            tuple(evidence),
            tuple(event.payload for event in events if isinstance(event.payload, StepEnded)),
        )


@dataclass(frozen=True, slots=True)
class AddReport:
    """What came of adding entries."""

    added: int = 0
    """New ones and those that replaced one."""
    refused: tuple[Refused, ...] = ()
    created: int = 0
    """Of those added, how many have an id that was not there."""
    changed: int = 0
    """How many replaced one with other content, or one that expires."""
    unchanged: int = 0
    """How many were there just so."""

    @property
    def compared(self) -> bool:
        """Whether the server has said what the entries replaced; earlier versions do not."""
        return self.created + self.changed + self.unchanged == self.added

    def __add__(self, other: AddReport) -> AddReport:
        return AddReport(
            self.added + other.added,
            self.refused + other.refused,
            self.created + other.created,
            self.changed + other.changed,
            self.unchanged + other.unchanged,
        )


@dataclass(frozen=True, slots=True)
class NoteReceipt:
    """What came of adding a note; it is on disk."""

    id: str
    title: str
    pictures: int
    """How many the entry has now."""
    updated: bool
    """Whether the entry was there before."""
    unchanged: bool = False
    """Whether it was there just so."""
