"""The values that cross the wire, as plain Python: the server makes them and its Python client returns them.

Each is declared once, here, without protobuf; `quizglass.convert` turns them into messages and back, field by field of
the same name. Durations are seconds. Members of an enumeration are strings, as JSON shows them. An enumeration that a
message leaves out, or sets to what only a later version defines, is None where the field allows that, and elsewhere
the first member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Plan(StrEnum):
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

    @classmethod
    def of(cls, *, image: bool, text: bool) -> Plan:
        """The plan that has these searches and no others."""
        if image:
            return cls.BOTH if text else cls.IMAGE
        return cls.TEXT if text else cls.NONE

    def within(self, other: Plan) -> Plan:
        """The searches that both plans have."""
        return Plan.of(
            image=self.searches_image and other.searches_image, text=self.searches_text and other.searches_text
        )

    def without(self, other: Plan) -> Plan:
        """The searches that this plan has and the other has not."""
        return Plan.of(
            image=self.searches_image and not other.searches_image,
            text=self.searches_text and not other.searches_text,
        )


class Origin(StrEnum):
    """Which search brought evidence back."""

    UNKNOWN = ""
    IMAGE_SEARCH = "image_search"
    TEXT_SEARCH = "text_search"
    READ_TEXT = "read_text"
    MEMORY = "memory"


class VerdictOutcome(StrEnum):
    """What checking the answer found."""

    UNKNOWN = ""
    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"
    ABSTAINED = "abstained"


class AnswerKind(StrEnum):
    """Where the words of an answer come from."""

    UNKNOWN = ""
    WRITTEN = "written"
    """A model wrote them."""
    QUOTED = "quoted"
    """Sentences of the evidence, word for word."""
    NAMED = "named"
    """The title of the entry that was recognised."""
    GUESSED = "guessed"
    """A classifier's word for what the picture may show."""
    FIXED = "fixed"
    """A reply to small talk."""


class FinishReason(StrEnum):
    """Why a turn finished."""

    UNKNOWN = ""
    COMPLETE = "complete"
    LENGTH = "length"
    BUDGET = "budget"
    CANCELLED = "cancelled"


class AbstainReason(StrEnum):
    """Why the answer is "I don't know"."""

    NONE = ""
    """The turn did not abstain: there is an answer."""
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
    LANGUAGE = "language"
    """The question is in a language that the bundle does not answer in."""


class SearchMode(StrEnum):
    """How texts are searched."""

    HYBRID = "hybrid"
    VECTORS = "vectors"
    KEYWORDS = "keywords"


class Order(StrEnum):
    """In which order sightings come."""

    LATEST = "latest"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A chunk or picture that was brought back, with scores and where it came from."""

    id: str
    """Number within the turn: "1", "2", ..."""
    origin: Origin
    entry_id: str
    title: str
    text: str
    """As the generator sees it, without the title."""
    search_score: float = 0.0
    """Cosine similarity to what was searched for."""
    rerank_score: float = 0.0
    """Probability that it helps; 0: not reranked."""
    source: str = ""
    used: bool = False
    """Whether the generator was shown it."""
    picture: bytes = b""
    """SHA-256 of the entry's first picture, which the store gives if it keeps pictures; empty: it has none."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Part of the answer, from `start` to before `end`, and the evidence behind it."""

    evidence_id: str
    entry_id: str
    title: str
    """Of the entry; "Words in the picture" where that is where the answer stands."""
    start: int
    """First character of the answer, in code points."""
    end: int
    source: str = ""
    """Where the evidence is from, as in `Evidence.source`; empty: not said."""


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step that was left out, and why: BUDGET, NO_PICTURE, NO_QUERY, EMPTY_KNOWLEDGE, MEMORY_OFF, FAILED, NO_FRAME,
    NOT_LOCAL."""

    step: str
    reason: str
    round: int = 0


@dataclass(frozen=True, slots=True)
class StageTiming:
    """How long a stage took, in seconds."""

    stage: str
    duration: float
    engine: float = 0.0
    """The part of `duration` that engines spent on it."""
    round: int = 0


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """Bytes that were handed to an engine or a store for a turn, and what is kept of them."""

    to: str
    """A role of the bundle, decoder, frame_filter, frames (of a session), coach, wordgate, knowledge or memory."""
    bytes: int
    kept: str = ""
    """What stays there after the turn; empty: nothing, or nothing that the server knows of."""
    kept_for: float = 0.0
    """Seconds at most; 0: until there is no room for it, or the server (frames: the session) ends."""
    elsewhere: bool = False
    """Whether what took the bytes is reached by a network address."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question of the dialogue and its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """How a turn uses the visual memory."""

    remember: bool = False
    """Whether its picture is kept as a sighting."""
    recall: bool = False
    """Whether the question may be answered from what it holds."""


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """Something that happened in a turn; each subclass is named as its message."""

    round: int = field(default=0, kw_only=True)
    """In which round of a policy that looks up more than once: 1, 2, ...; 0 outside of rounds."""
    branch: str = field(default="", kw_only=True)
    """In which of the branches that a policy runs at the same time: "1", "2", in the first "1.1"; empty: in none."""


@dataclass(frozen=True, slots=True)
class Accepted(TurnEvent):
    """The turn begins."""

    policy: str
    frame_sha256: tuple[bytes, ...]
    """SHA-256 of each picture's encoded bytes."""
    budget: float
    """Seconds that the turn may take."""


@dataclass(frozen=True, slots=True)
class PlanMade(TurnEvent):
    """What will be looked up."""

    plan: Plan | None
    """None: one that only later versions know."""
    decided_by: str
    """planner, tool_router, prompt, fixed or memory."""
    probabilities: Mapping[Plan, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decided(TurnEvent):
    """One label of a closed set was chosen; the choice of a plan is `PlanMade`."""

    by: str
    """The decision, as the policy names it: a decider's or a prompt's name."""
    label: str
    decided_by: str
    """The decider's name; "prompt": the generator; "fixed": there was no time to decide."""
    probabilities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Queries(TurnEvent):
    """Lines that the generator wrote for the policy to go on from, such as what is looked up next."""

    task: str
    """The prompt's name."""
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of a picture, its sides as fractions of the picture's width and height, 0 to 1."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        """Fraction of the picture's area that it covers."""
        return max(self.right - self.left, 0.0) * max(self.bottom - self.top, 0.0)


@dataclass(frozen=True, slots=True)
class StepDetail:
    """One thing that a step was given or brought, for people to read."""

    label: str
    """What it is: question, query, passage, label, the name of a prompt's value."""
    text: str = ""
    score: float | None = None
    """A probability or a cosine; None: it has none."""
    evidence_id: str = ""
    """Id of the piece of evidence that this is; empty: it is none."""
    region: Region | None = None
    """The part of the picture that this is; None: it is none."""


@dataclass(frozen=True, slots=True)
class StepEnded(TurnEvent):
    """A step has ended or was left out; only of turns that are to be explained."""

    name: str
    role: str = ""
    """What did it: a role of the bundle, knowledge, memory or pictures (of entries); empty: no model."""
    started: float = 0.0
    """Seconds since the turn was accepted; decoding the picture comes before that and is negative."""
    duration: float = 0.0
    """Seconds; 0 for a step that did not begin."""
    engine: float = 0.0
    """The part of `duration` that engines spent on it."""
    inputs: tuple[StepDetail, ...] = ()
    outputs: tuple[StepDetail, ...] = ()
    reason: str = ""
    """Why it was left out or cut off, as in `SkippedStep`, or CANCELLED; empty: it was finished."""


@dataclass(frozen=True, slots=True)
class Provisional(TurnEvent):
    """An answer that may still be taken back: `Confirmed` or `Withdrawn` follows. Its text is in no `AnswerDelta`."""

    text: str


@dataclass(frozen=True, slots=True)
class Confirmed(TurnEvent):
    """The provisional answer is the answer."""


@dataclass(frozen=True, slots=True)
class Withdrawn(TurnEvent):
    """The provisional answer is not the answer."""


@dataclass(frozen=True, slots=True)
class QueryRewritten(TurnEvent):
    """The question, rewritten to stand alone: the gold query."""

    text: str
    used_image_evidence: bool


@dataclass(frozen=True, slots=True)
class EvidenceFound(TurnEvent):
    """What a search brought back, best first."""

    items: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class AnswerDelta(TurnEvent):
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Verdict(TurnEvent):
    """What checking the answer found."""

    outcome: VerdictOutcome
    min_token_probability: float
    mean_token_probability: float
    notes: Mapping[str, str] = field(default_factory=dict)
    """How the answer came about: what other sources state instead (`disputed`), what was calculated, and what the
    policy says, as core-mmrag does of memory, external, believed and why."""
    kind: AnswerKind = AnswerKind.UNKNOWN
    """Where the words of the answer come from; UNKNOWN of an abstention and of servers that do not say."""


@dataclass(frozen=True, slots=True)
class Done(TurnEvent):
    """The turn is over."""

    answer: str
    finish_reason: FinishReason
    citations: tuple[Citation, ...] = ()
    abstain_reason: AbstainReason = AbstainReason.NONE
    skipped: tuple[SkippedStep, ...] = ()
    timings: tuple[StageTiming, ...] = ()
    prompt_tokens: int = 0
    answer_tokens: int = 0
    history_left_out: int = 0
    """Earlier exchanges, the oldest ones, that the answer's prompt had no room for."""
    all_prompt_tokens: int = 0
    """Tokens that the generator, deciders and rerankers were given to read in the whole turn."""
    all_written_tokens: int = 0
    """Tokens that the generator wrote in the whole turn: the answer, and queries, drafts and reasons before it."""
    session: bytes = b""
    """What the next question sends to go on from here; empty from a server without dialogues."""
    ledger: tuple[LedgerEntry, ...] = ()
    """Which bytes of the turn went where, and what is kept of them."""
    total: float = 0.0
    """Seconds since the turn was accepted; set when the event is sent."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the knowledge store."""

    id: str
    title: str
    caption: str = ""
    kind: str = ""
    text: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    picture_sha256: tuple[bytes, ...] = ()
    """SHA-256 of each of its pictures, once the entry is stored."""
    language: str = ""
    """BCP 47: "en", "pt-BR"; empty: not said."""
    text_format: str = ""
    """Of `text`: empty (plain), markdown or html."""
    time: int = 0
    """When what it tells happened, in seconds since 1970; 0: not said."""
    expires_after: int = 0
    """When given: seconds it is kept; when read: seconds left. 0: for ever."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was not added, and why."""

    index: int
    """Its place among those that were sent."""
    id: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """The receipt of a deletion, which is durable; the bytes are gone once `compact` returns at least `sequence`."""

    id: str
    sequence: int
    """Sequence number of the commit."""
    chunks: int
    pictures: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries a search may bring back: those that match every field that is not empty."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    """Exact values by key."""
    kinds: Sequence[str] = ()
    """Any of these."""
    sources: Sequence[str] = ()
    languages: Sequence[str] = ()
    """BCP 47; "en" also takes "en-GB"."""
    time_from: int = 0
    """Seconds since 1970, inclusive."""
    time_until: int = 0
    """Exclusive."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One frame that was asked about, and when."""

    id: str
    """Id of the turn."""
    time: int
    """Seconds since 1970, by the server's clock."""
    frame_sha256: bytes
    session_id: str = ""
    """Empty: the turn named none."""
    question: str = ""
    """One line; empty where texts are not remembered."""
    answer: str = ""
    """Empty where there was none, or texts are not remembered."""
    recognised: tuple[str, ...] = ()
    """Titles of the entries that the picture was taken for, best first; one line each."""
    expires_after: int = 0
    """When read: seconds after which it is forgotten by itself."""
    age: int = 0
    """When it was found: seconds ago, by the server's clock."""
    score: float = 0.0
    """When it was found: cosine to what was searched for; 0 where nothing was compared."""
    has_thumbnail: bool = False
    """When it was found: whether there is a small picture of it."""

    @property
    def seen_at(self) -> datetime:
        """The time, in this machine's time zone."""
        return datetime.fromtimestamp(self.time).astimezone()


@dataclass(frozen=True, slots=True)
class ForgottenSightings:
    """The receipt of forgetting: the bytes are gone once `compact` returns at least this sequence number."""

    sightings: int
    sequence: int


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """How much a server remembers, and what became of the rest since it started."""

    sightings: int
    bytes: int
    """On the disk, without indexes."""
    oldest_time: int
    """Seconds since 1970; 0: nothing is remembered."""
    latest_time: int
    ttl: int
    """Seconds that a sighting is remembered."""
    max_sightings: int
    max_bytes: int
    waiting: int
    """Not yet written."""
    remembered: int
    dropped: int
    """Left out because too many waited."""
    failed: int


@dataclass(frozen=True, slots=True)
class RoleCapability:
    """One model of the server and what executes it."""

    role: str
    engine: str
    """onnx, llama, openai, rapidocr or numpy."""
    executor: str
    """cpu, cuda, tensorrt, tensorrt-engine for an engine built ahead of time, gpu where llama.cpp uses one, or
    elsewhere for a generator behind a network address."""
    ready: bool
    sees_pictures: bool = False
    """Whether pictures are given to it; a generator of text alone answers from what was read and found in them."""
    notice: str = ""
    """Why it is slower than it could be on the server's machine, and what to do; empty when it is not."""
    program: str = ""
    """Which llama-server runs it on the server's machine, and where that comes from; empty for others."""


@dataclass(frozen=True, slots=True)
class SourceCapability:
    """A source of knowledge that is asked beside the store."""

    name: str
    """In `done.skipped` and `done.ledger` it is "source.NAME"."""
    kind: str
    """searxng, markdown, or that of another package."""
    finds: tuple[str, ...]
    """By what it is searched: "text", "image"."""
    remote: bool
    """Whether searches may leave the server's machine; not those of LOCAL_ONLY sessions."""
    ready: bool
    """Whether its last search was answered; true before the first."""
    notice: str = ""
    """Why it is not ready; empty when it is."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the server can do."""

    server_version: str
    bundle: str
    policies: tuple[str, ...]
    """Policies that can be asked for, the default first."""
    roles: tuple[RoleCapability, ...]
    limits: Mapping[str, float]
    entries: int
    useful_picture_side: int
    """Pixels; a client that makes pictures no larger loses nothing."""
    memory: bool = False
    """Whether there is a visual memory that turns may use."""
    knowledge: str = "local"
    """What keeps the knowledge: local, or milvus, which keeps no pictures and does not compact on demand."""
    knowledge_ready: bool = True
    """Whether it can be searched now."""
    not_served: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Policies that the bundle cannot serve, and what it lacks for each."""
    works_without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Policies that are served without roles that they would use, and which these are."""
    languages: tuple[str, ...] = ()
    """Primary tags of BCP 47 of those that questions are answered in; "*": any; empty: the server does not say."""
    may: tuple[str, ...] = ()
    """What the token that came with the call allows; empty where none is needed."""
    sources: tuple[SourceCapability, ...] = ()
    """What is asked beside the knowledge store."""
    answers: str = ""
    """How they come about: write, quote, or shorter, which is the shorter of both; empty: the server does not say."""
