"""The words of quizglass as types: turns, plans, evidence and events. Nothing here knows gRPC, models or engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]
"""Picture, height x width x 3, sRGB, upright."""
Vector = NDArray[np.float32]
"""Embedding, one-dimensional, L2-normalised."""


class Plan(Enum):
    """What has to be looked up (planning agent: c1, c3, c2, c4)."""

    NONE = "none"
    IMAGE = "image"
    TEXT = "text"
    BOTH = "both"

    @property
    def searches_image(self) -> bool:
        """Whether the picture is looked up."""
        return self in (Plan.IMAGE, Plan.BOTH)

    @property
    def searches_text(self) -> bool:
        """Whether text is looked up."""
        return self in (Plan.TEXT, Plan.BOTH)


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A decoded frame. Two pictures are the same when their hashes are."""

    sha256: bytes
    """Of the encoded bytes, 32 bytes."""
    pixels: RGB

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picture) and other.sha256 == self.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    @property
    def width(self) -> int:
        """Pixels."""
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.pixels.shape[0])


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question of the dialogue and its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One question about zero or one picture."""

    id: str
    """32 hexadecimal digits."""
    question: str
    picture: Picture | None = None
    history: tuple[Exchange, ...] = ()
    max_answer_tokens: int = 0
    """0: the bundle's own limit."""
    session: str = ""
    """As the client names it; empty: it does not."""
    remember: bool = False
    """Whether the picture is to be remembered."""
    recall: bool = False
    """Whether the answer may come from what is remembered."""
    other_than: tuple[str, ...] = ()
    """Texts that name things which the question is not about ("the other one")."""


class Origin(Enum):
    """Which search brought evidence back."""

    IMAGE_SEARCH = "image_search"
    TEXT_SEARCH = "text_search"
    READ_TEXT = "read_text"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A chunk or picture brought back, with scores and where it came from."""

    id: str
    """Within the turn: "1", "2", ..."""
    origin: Origin
    entry_id: str
    title: str
    text: str
    """As the generator sees it, without the title."""
    search_score: float = 0.0
    rerank_score: float = 0.0
    source: str = ""
    used: bool = False
    coarse_score: float | None = None
    """Of the coarse reranker, if there is one: the cosine of passage and picture."""
    picture: bytes | None = None
    """SHA-256 of the entry's first picture; None: it has none."""

    @property
    def coarse(self) -> float:
        """What a reranker's finer score is multiplied with."""
        return self.search_score if self.coarse_score is None else self.coarse_score


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """A plan and how it came about."""

    plan: Plan
    decided_by: str
    """planner, tool_router, prompt, fixed or memory."""
    probabilities: tuple[tuple[Plan, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of generated text. Its text may be empty while a character is incomplete."""

    text: str
    probability: float
    """Of the token under the model, 0 to 1."""


@dataclass(frozen=True, slots=True)
class GenerationEnd:
    """How a generation ended."""

    reason: str
    """stop, length, cancelled or deadline."""
    prompt_tokens: int
    answer_tokens: int
    engine_us: int
    """Microseconds in the engine."""


class VerdictOutcome(Enum):
    """What checking the answer found."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"
    ABSTAINED = "abstained"


@dataclass(frozen=True, slots=True)
class Citation:
    """Part of the answer and the evidence behind it."""

    evidence_id: str
    entry_id: str
    title: str
    start: int
    """First character of the answer, in code points."""
    end: int


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step that was left out, and why (BUDGET, NO_PICTURE, NO_QUERY, EMPTY_KNOWLEDGE, MEMORY_OFF, FAILED)."""

    step: str
    reason: str
    round: int = 0


@dataclass(frozen=True, slots=True)
class StageTiming:
    """What a stage cost, in microseconds."""

    stage: str
    duration_us: int
    engine_us: int = 0
    round: int = 0


class FinishReason(Enum):
    """Why a turn finished."""

    COMPLETE = "complete"
    LENGTH = "length"
    BUDGET = "budget"
    CANCELLED = "cancelled"


class AbstainReason(Enum):
    """Why the answer is "I don't know"."""

    MODEL = "model"
    NO_EVIDENCE = "no_evidence"
    BUDGET = "budget"
    UNSURE = "unsure"
    """An answer was written, and the model was not sure enough of it."""
    UNSUPPORTED = "unsupported"
    """The evidence does not support what was written."""
    CONTRADICTED = "contradicted"
    """The evidence contradicts what was written."""
    INCOMPLETE = "incomplete"
    """What was written does not answer the whole question."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a turn, and where."""

    round: int = field(default=0, kw_only=True)
    """Of a policy that looks up more than once: 1, 2, ...; 0 outside of rounds."""
    branch: str = field(default="", kw_only=True)
    """Of a policy that does several things at the same time: "1", "2", within the first "1.1"; empty: there is one."""


@dataclass(frozen=True, slots=True)
class Accepted(Event):
    """Event: the turn begins."""

    policy: str
    frames_sha256: tuple[bytes, ...]
    budget_us: int


@dataclass(frozen=True, slots=True)
class PlanMade(Event):
    """Event: what will be looked up."""

    decision: PlanDecision


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """Event: one of a closed set was chosen."""

    by: str
    """The decision, as the policy names it: a decider's or a prompt's name."""
    label: str
    decided_by: str
    """The decider's name; "prompt": the generator; "fixed": there was no time to decide."""
    probabilities: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Queries(Event):
    """Event: what the policy had the generator write to go on from, such as what is looked up next."""

    task: str
    """The prompt's name."""
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Provisional(Event):
    """Event: an answer that may still be taken back; `Confirmed` or `Withdrawn` follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Confirmed(Event):
    """Event: the provisional answer is the answer."""


@dataclass(frozen=True, slots=True)
class Withdrawn(Event):
    """Event: the provisional answer is not the answer."""


@dataclass(frozen=True, slots=True)
class QueryRewritten(Event):
    """Event: the gold query."""

    text: str
    used_image_evidence: bool


@dataclass(frozen=True, slots=True)
class EvidenceFound(Event):
    """Event: what a search brought back, best first."""

    items: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class AnswerDelta(Event):
    """Event: the next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Verdict(Event):
    """Event: what checking the answer found."""

    outcome: VerdictOutcome
    min_token_probability: float
    mean_token_probability: float
    notes: Mapping[str, str] = field(default_factory=dict)
    """How the answer came about, where the policy says so."""


@dataclass(frozen=True, slots=True)
class Done(Event):
    """Event: the turn is over."""

    answer: str
    finish_reason: FinishReason
    citations: tuple[Citation, ...] = ()
    abstain_reason: AbstainReason | None = None
    skipped: tuple[SkippedStep, ...] = ()
    timings: tuple[StageTiming, ...] = ()
    prompt_tokens: int = 0
    answer_tokens: int = 0
    history_left_out: int = 0
    """Earlier exchanges, the oldest ones, that the answer's prompt had no room for."""
    all_prompt_tokens: int = 0
    """Of everything that the generator, deciders and rerankers were given to read in the turn."""
    session: bytes = b""
    """What the next turn is given to go on from here."""


TurnEvent = (
    Accepted
    | PlanMade
    | Decided
    | Queries
    | QueryRewritten
    | EvidenceFound
    | Provisional
    | Confirmed
    | Withdrawn
    | AnswerDelta
    | Verdict
    | Done
)
