"""What the SDK gives and takes: frozen values, durations in seconds, no protobuf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from PIL import Image

PictureLike = bytes | str | Path | Image.Image
"""Encoded bytes, a path, or a Pillow image."""


class Plan(Enum):
    """What the server looked up."""

    UNKNOWN = "unknown"
    NONE = "none"
    IMAGE = "image"
    TEXT = "text"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A chunk or picture that was brought back."""

    id: str
    origin: str
    """image_search, text_search, read_text or memory."""
    entry_id: str
    title: str
    text: str
    search_score: float
    rerank_score: float
    source: str
    used: bool
    picture: bytes | None = None
    """SHA-256 of the entry's first picture, which the client's `picture` gives; None: it has none."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Part of the answer, from `start` to before `end`, and the evidence behind it."""

    evidence_id: str
    entry_id: str
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StageTiming:
    """What a stage cost, in seconds."""

    stage: str
    duration: float
    engine: float


@dataclass(frozen=True, slots=True)
class Accepted:
    """The request has been admitted."""

    policy: str
    frame_sha256: tuple[bytes, ...]
    budget: float
    """Seconds."""


@dataclass(frozen=True, slots=True)
class PlanMade:
    """What will be looked up."""

    plan: Plan
    decided_by: str
    probabilities: Mapping[Plan, float]


@dataclass(frozen=True, slots=True)
class Decided:
    """The policy chose one of a closed set, other than a plan."""

    by: str
    """What was decided: the name of a decider or a prompt."""
    label: str
    decided_by: str
    """The decider's name, prompt or fixed."""
    probabilities: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Queries:
    """What the policy had written to go on from, such as the queries that are looked up next."""

    task: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Provisional:
    """An answer to show at once, which `Confirmed` or `Withdrawn` follows. Its text is in no `AnswerDelta`."""

    text: str


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The provisional answer is the answer."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The provisional answer is not the answer."""


@dataclass(frozen=True, slots=True)
class QueryRewritten:
    """The question, rewritten to stand alone."""

    text: str
    used_image_evidence: bool


@dataclass(frozen=True, slots=True)
class EvidenceFound:
    """What a search brought back, best first."""

    items: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What checking the answer found: supported, unsupported, unchecked or abstained."""

    outcome: str
    min_token_probability: float
    mean_token_probability: float
    notes: Mapping[str, str] = field(default_factory=dict)
    """How the answer came about, where the policy says so: of core-mmrag memory, external, believed and why."""


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is over."""

    answer: str
    finish_reason: str
    """complete, length, budget or cancelled."""
    abstain_reason: str
    """model, no_evidence, budget, unsure, unsupported, contradicted or incomplete; empty when there is an answer."""
    citations: tuple[Citation, ...]
    skipped: Mapping[str, str]
    """Step to reason."""
    timings: tuple[StageTiming, ...]
    total: float
    """Seconds."""
    prompt_tokens: int
    answer_tokens: int
    history_left_out: int = 0
    """Exchanges of the history, the oldest ones, that the answer's prompt had no room for."""
    all_prompt_tokens: int = 0
    """Of everything that the generator, deciders and rerankers were given to read in the turn."""
    session: bytes = b""
    """For the next question, to go on from here; empty from a server that has none."""


Payload = (
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


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a turn."""

    turn_id: str
    seq: int
    elapsed: float
    """Seconds since the turn was accepted."""
    payload: Payload
    round: int = 0
    """Of a policy that looks up more than once: 1, 2, ...; 0 outside of rounds."""
    branch: str = ""
    """Of a policy that does several things at the same time: "1", "2", within the first "1.1"; empty: there is one."""


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
        found: dict[type, Payload] = {type(event.payload): event.payload for event in events}
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
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the knowledge store. `pictures` are given when adding; `picture_sha256` comes back."""

    id: str
    title: str
    caption: str = ""
    kind: str = ""
    text: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    pictures: tuple[PictureLike, ...] = ()
    picture_sha256: tuple[bytes, ...] = ()
    language: str = ""
    """BCP 47: "en", "pt-BR"."""
    text_format: str = ""
    """Of `text`: empty (plain), markdown or html."""
    time: int = 0
    """Seconds since 1970 of what it tells; 0: not said."""
    expires_after: int = 0
    """Seconds until it is deleted by itself; when it comes back, what is left. 0: never."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The receipt of a deletion: the bytes are gone once `compact` returns at least this sequence number."""

    id: str
    sequence: int
    chunks: int
    pictures: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries a search may bring back; what is empty filters nothing, all that is set has to fit."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    kinds: Sequence[str] = ()
    sources: Sequence[str] = ()
    languages: Sequence[str] = ()
    """"en" also takes "en-GB"."""
    time_from: int = 0
    """Seconds since 1970, inclusive."""
    time_until: int = 0
    """Exclusive."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was not added, and why."""

    index: int
    id: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """What came of adding entries."""

    added: int = 0
    refused: tuple[Refused, ...] = ()

    def __add__(self, other: AddReport) -> AddReport:
        return AddReport(self.added + other.added, self.refused + other.refused)


@dataclass(frozen=True, slots=True)
class Role:
    """One model of the server and what executes it."""

    role: str
    engine: str
    executor: str
    ready: bool
    sees_pictures: bool = False
    """Whether pictures are given to it; a generator of text alone answers from what was read and found in them."""
    notice: str = ""
    """Why it is slower than it could be on the server's machine, and what to do; empty when it is not."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the server can do."""

    server_version: str
    bundle: str
    policies: tuple[str, ...]
    """That can be asked for, the default first."""
    roles: tuple[Role, ...]
    limits: Mapping[str, float]
    entries: int
    useful_picture_side: int
    memory: bool = False
    """Whether there is a visual memory that turns may use."""
    knowledge: str = "local"
    """What keeps the knowledge: local, or milvus, which keeps no pictures and does not compact on demand."""
    knowledge_ready: bool = True
    """Whether it can be searched now."""
    not_served: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Policies that the server knows and its bundle cannot serve, and what it lacks for them."""
