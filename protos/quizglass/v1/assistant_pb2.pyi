from quizglass.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Exchange(_message.Message):
    __slots__ = ("question", "answer")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    question: str
    answer: str
    def __init__(self, question: _Optional[str] = ..., answer: _Optional[str] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("question", "frames", "history", "policy", "budget_us", "session_id", "max_answer_tokens", "session", "explain", "memory")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    BUDGET_US_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_ANSWER_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    question: str
    frames: _containers.RepeatedCompositeFieldContainer[_types_pb2.Frame]
    history: _containers.RepeatedCompositeFieldContainer[Exchange]
    policy: str
    budget_us: int
    session_id: str
    max_answer_tokens: int
    session: bytes
    explain: bool
    memory: MemoryUse
    def __init__(self, question: _Optional[str] = ..., frames: _Optional[_Iterable[_Union[_types_pb2.Frame, _Mapping]]] = ..., history: _Optional[_Iterable[_Union[Exchange, _Mapping]]] = ..., policy: _Optional[str] = ..., budget_us: _Optional[int] = ..., session_id: _Optional[str] = ..., max_answer_tokens: _Optional[int] = ..., session: _Optional[bytes] = ..., explain: _Optional[bool] = ..., memory: _Optional[_Union[MemoryUse, _Mapping]] = ...) -> None: ...

class MemoryUse(_message.Message):
    __slots__ = ("remember", "recall")
    REMEMBER_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    remember: bool
    recall: bool
    def __init__(self, remember: _Optional[bool] = ..., recall: _Optional[bool] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("turn_id", "seq", "elapsed_us", "accepted", "plan", "query", "evidence", "answer_delta", "verdict", "done", "decided", "queries", "provisional", "confirmed", "withdrawn", "step", "round", "branch")
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_US_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWER_DELTA_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    PROVISIONAL_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    BRANCH_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    seq: int
    elapsed_us: int
    accepted: Accepted
    plan: PlanMade
    query: QueryRewritten
    evidence: EvidenceFound
    answer_delta: AnswerDelta
    verdict: Verdict
    done: Done
    decided: Decided
    queries: Queries
    provisional: Provisional
    confirmed: Confirmed
    withdrawn: Withdrawn
    step: StepEnded
    round: int
    branch: str
    def __init__(self, turn_id: _Optional[str] = ..., seq: _Optional[int] = ..., elapsed_us: _Optional[int] = ..., accepted: _Optional[_Union[Accepted, _Mapping]] = ..., plan: _Optional[_Union[PlanMade, _Mapping]] = ..., query: _Optional[_Union[QueryRewritten, _Mapping]] = ..., evidence: _Optional[_Union[EvidenceFound, _Mapping]] = ..., answer_delta: _Optional[_Union[AnswerDelta, _Mapping]] = ..., verdict: _Optional[_Union[Verdict, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., decided: _Optional[_Union[Decided, _Mapping]] = ..., queries: _Optional[_Union[Queries, _Mapping]] = ..., provisional: _Optional[_Union[Provisional, _Mapping]] = ..., confirmed: _Optional[_Union[Confirmed, _Mapping]] = ..., withdrawn: _Optional[_Union[Withdrawn, _Mapping]] = ..., step: _Optional[_Union[StepEnded, _Mapping]] = ..., round: _Optional[int] = ..., branch: _Optional[str] = ...) -> None: ...

class Accepted(_message.Message):
    __slots__ = ("policy", "frame_sha256", "budget_us")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    FRAME_SHA256_FIELD_NUMBER: _ClassVar[int]
    BUDGET_US_FIELD_NUMBER: _ClassVar[int]
    policy: str
    frame_sha256: _containers.RepeatedScalarFieldContainer[bytes]
    budget_us: int
    def __init__(self, policy: _Optional[str] = ..., frame_sha256: _Optional[_Iterable[bytes]] = ..., budget_us: _Optional[int] = ...) -> None: ...

class PlanMade(_message.Message):
    __slots__ = ("plan", "decided_by", "scores")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    plan: _types_pb2.Plan
    decided_by: str
    scores: _containers.RepeatedCompositeFieldContainer[PlanScore]
    def __init__(self, plan: _Optional[_Union[_types_pb2.Plan, str]] = ..., decided_by: _Optional[str] = ..., scores: _Optional[_Iterable[_Union[PlanScore, _Mapping]]] = ...) -> None: ...

class PlanScore(_message.Message):
    __slots__ = ("plan", "probability")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    plan: _types_pb2.Plan
    probability: float
    def __init__(self, plan: _Optional[_Union[_types_pb2.Plan, str]] = ..., probability: _Optional[float] = ...) -> None: ...

class Decided(_message.Message):
    __slots__ = ("by", "label", "decided_by", "scores")
    BY_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    by: str
    label: str
    decided_by: str
    scores: _containers.RepeatedCompositeFieldContainer[LabelScore]
    def __init__(self, by: _Optional[str] = ..., label: _Optional[str] = ..., decided_by: _Optional[str] = ..., scores: _Optional[_Iterable[_Union[LabelScore, _Mapping]]] = ...) -> None: ...

class LabelScore(_message.Message):
    __slots__ = ("label", "probability")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    label: str
    probability: float
    def __init__(self, label: _Optional[str] = ..., probability: _Optional[float] = ...) -> None: ...

class Queries(_message.Message):
    __slots__ = ("task", "texts")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    task: str
    texts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, task: _Optional[str] = ..., texts: _Optional[_Iterable[str]] = ...) -> None: ...

class Provisional(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Confirmed(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Withdrawn(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StepEnded(_message.Message):
    __slots__ = ("name", "role", "started_us", "duration_us", "engine_us", "inputs", "outputs", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    STARTED_US_FIELD_NUMBER: _ClassVar[int]
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    ENGINE_US_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    role: str
    started_us: int
    duration_us: int
    engine_us: int
    inputs: _containers.RepeatedCompositeFieldContainer[StepDetail]
    outputs: _containers.RepeatedCompositeFieldContainer[StepDetail]
    reason: str
    def __init__(self, name: _Optional[str] = ..., role: _Optional[str] = ..., started_us: _Optional[int] = ..., duration_us: _Optional[int] = ..., engine_us: _Optional[int] = ..., inputs: _Optional[_Iterable[_Union[StepDetail, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[StepDetail, _Mapping]]] = ..., reason: _Optional[str] = ...) -> None: ...

class StepDetail(_message.Message):
    __slots__ = ("label", "text", "score", "evidence_id", "region")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_ID_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    label: str
    text: str
    score: float
    evidence_id: str
    region: Region
    def __init__(self, label: _Optional[str] = ..., text: _Optional[str] = ..., score: _Optional[float] = ..., evidence_id: _Optional[str] = ..., region: _Optional[_Union[Region, _Mapping]] = ...) -> None: ...

class Region(_message.Message):
    __slots__ = ("left", "top", "right", "bottom")
    LEFT_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    BOTTOM_FIELD_NUMBER: _ClassVar[int]
    left: float
    top: float
    right: float
    bottom: float
    def __init__(self, left: _Optional[float] = ..., top: _Optional[float] = ..., right: _Optional[float] = ..., bottom: _Optional[float] = ...) -> None: ...

class QueryRewritten(_message.Message):
    __slots__ = ("text", "used_image_evidence")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    USED_IMAGE_EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    text: str
    used_image_evidence: bool
    def __init__(self, text: _Optional[str] = ..., used_image_evidence: _Optional[bool] = ...) -> None: ...

class EvidenceFound(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[_types_pb2.Evidence]
    def __init__(self, items: _Optional[_Iterable[_Union[_types_pb2.Evidence, _Mapping]]] = ...) -> None: ...

class AnswerDelta(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("outcome", "min_token_probability", "mean_token_probability", "notes", "kind")
    class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OUTCOME_UNSPECIFIED: _ClassVar[Verdict.Outcome]
        OUTCOME_SUPPORTED: _ClassVar[Verdict.Outcome]
        OUTCOME_UNSUPPORTED: _ClassVar[Verdict.Outcome]
        OUTCOME_UNCHECKED: _ClassVar[Verdict.Outcome]
        OUTCOME_ABSTAINED: _ClassVar[Verdict.Outcome]
    OUTCOME_UNSPECIFIED: Verdict.Outcome
    OUTCOME_SUPPORTED: Verdict.Outcome
    OUTCOME_UNSUPPORTED: Verdict.Outcome
    OUTCOME_UNCHECKED: Verdict.Outcome
    OUTCOME_ABSTAINED: Verdict.Outcome
    class AnswerKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ANSWER_KIND_UNSPECIFIED: _ClassVar[Verdict.AnswerKind]
        ANSWER_KIND_WRITTEN: _ClassVar[Verdict.AnswerKind]
        ANSWER_KIND_QUOTED: _ClassVar[Verdict.AnswerKind]
        ANSWER_KIND_NAMED: _ClassVar[Verdict.AnswerKind]
        ANSWER_KIND_GUESSED: _ClassVar[Verdict.AnswerKind]
        ANSWER_KIND_FIXED: _ClassVar[Verdict.AnswerKind]
    ANSWER_KIND_UNSPECIFIED: Verdict.AnswerKind
    ANSWER_KIND_WRITTEN: Verdict.AnswerKind
    ANSWER_KIND_QUOTED: Verdict.AnswerKind
    ANSWER_KIND_NAMED: Verdict.AnswerKind
    ANSWER_KIND_GUESSED: Verdict.AnswerKind
    ANSWER_KIND_FIXED: Verdict.AnswerKind
    class NotesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    MIN_TOKEN_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    MEAN_TOKEN_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    outcome: Verdict.Outcome
    min_token_probability: float
    mean_token_probability: float
    notes: _containers.ScalarMap[str, str]
    kind: Verdict.AnswerKind
    def __init__(self, outcome: _Optional[_Union[Verdict.Outcome, str]] = ..., min_token_probability: _Optional[float] = ..., mean_token_probability: _Optional[float] = ..., notes: _Optional[_Mapping[str, str]] = ..., kind: _Optional[_Union[Verdict.AnswerKind, str]] = ...) -> None: ...

class Citation(_message.Message):
    __slots__ = ("evidence_id", "entry_id", "title", "start", "end", "source")
    EVIDENCE_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    evidence_id: str
    entry_id: str
    title: str
    start: int
    end: int
    source: str
    def __init__(self, evidence_id: _Optional[str] = ..., entry_id: _Optional[str] = ..., title: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., source: _Optional[str] = ...) -> None: ...

class SkippedStep(_message.Message):
    __slots__ = ("step", "reason", "round")
    STEP_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    step: str
    reason: str
    round: int
    def __init__(self, step: _Optional[str] = ..., reason: _Optional[str] = ..., round: _Optional[int] = ...) -> None: ...

class LedgerEntry(_message.Message):
    __slots__ = ("to", "bytes", "kept", "kept_for_us", "elsewhere")
    TO_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    KEPT_FOR_US_FIELD_NUMBER: _ClassVar[int]
    ELSEWHERE_FIELD_NUMBER: _ClassVar[int]
    to: str
    bytes: int
    kept: str
    kept_for_us: int
    elsewhere: bool
    def __init__(self, to: _Optional[str] = ..., bytes: _Optional[int] = ..., kept: _Optional[str] = ..., kept_for_us: _Optional[int] = ..., elsewhere: _Optional[bool] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ("answer", "citations", "finish_reason", "abstain_reason", "skipped", "timings", "total_us", "prompt_tokens", "answer_tokens", "history_left_out", "all_prompt_tokens", "session", "ledger", "all_written_tokens")
    class FinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        FINISH_REASON_UNSPECIFIED: _ClassVar[Done.FinishReason]
        FINISH_REASON_COMPLETE: _ClassVar[Done.FinishReason]
        FINISH_REASON_LENGTH: _ClassVar[Done.FinishReason]
        FINISH_REASON_BUDGET: _ClassVar[Done.FinishReason]
        FINISH_REASON_CANCELLED: _ClassVar[Done.FinishReason]
    FINISH_REASON_UNSPECIFIED: Done.FinishReason
    FINISH_REASON_COMPLETE: Done.FinishReason
    FINISH_REASON_LENGTH: Done.FinishReason
    FINISH_REASON_BUDGET: Done.FinishReason
    FINISH_REASON_CANCELLED: Done.FinishReason
    class AbstainReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ABSTAIN_REASON_UNSPECIFIED: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_MODEL: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_NO_EVIDENCE: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_BUDGET: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_UNSURE: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_UNSUPPORTED: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_CONTRADICTED: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_INCOMPLETE: _ClassVar[Done.AbstainReason]
        ABSTAIN_REASON_LANGUAGE: _ClassVar[Done.AbstainReason]
    ABSTAIN_REASON_UNSPECIFIED: Done.AbstainReason
    ABSTAIN_REASON_MODEL: Done.AbstainReason
    ABSTAIN_REASON_NO_EVIDENCE: Done.AbstainReason
    ABSTAIN_REASON_BUDGET: Done.AbstainReason
    ABSTAIN_REASON_UNSURE: Done.AbstainReason
    ABSTAIN_REASON_UNSUPPORTED: Done.AbstainReason
    ABSTAIN_REASON_CONTRADICTED: Done.AbstainReason
    ABSTAIN_REASON_INCOMPLETE: Done.AbstainReason
    ABSTAIN_REASON_LANGUAGE: Done.AbstainReason
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    ABSTAIN_REASON_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_US_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_TOKENS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    ALL_PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    ALL_WRITTEN_TOKENS_FIELD_NUMBER: _ClassVar[int]
    answer: str
    citations: _containers.RepeatedCompositeFieldContainer[Citation]
    finish_reason: Done.FinishReason
    abstain_reason: Done.AbstainReason
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedStep]
    timings: _containers.RepeatedCompositeFieldContainer[_types_pb2.StageTiming]
    total_us: int
    prompt_tokens: int
    answer_tokens: int
    history_left_out: int
    all_prompt_tokens: int
    session: bytes
    ledger: _containers.RepeatedCompositeFieldContainer[LedgerEntry]
    all_written_tokens: int
    def __init__(self, answer: _Optional[str] = ..., citations: _Optional[_Iterable[_Union[Citation, _Mapping]]] = ..., finish_reason: _Optional[_Union[Done.FinishReason, str]] = ..., abstain_reason: _Optional[_Union[Done.AbstainReason, str]] = ..., skipped: _Optional[_Iterable[_Union[SkippedStep, _Mapping]]] = ..., timings: _Optional[_Iterable[_Union[_types_pb2.StageTiming, _Mapping]]] = ..., total_us: _Optional[int] = ..., prompt_tokens: _Optional[int] = ..., answer_tokens: _Optional[int] = ..., history_left_out: _Optional[int] = ..., all_prompt_tokens: _Optional[int] = ..., session: _Optional[bytes] = ..., ledger: _Optional[_Iterable[_Union[LedgerEntry, _Mapping]]] = ..., all_written_tokens: _Optional[int] = ...) -> None: ...

class GetCapabilitiesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetCapabilitiesResponse(_message.Message):
    __slots__ = ("server_version", "bundle", "policies", "roles", "limits", "entries", "useful_picture_side", "memory", "knowledge", "policy_capabilities", "languages", "may", "sources", "answers")
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    USEFUL_PICTURE_SIDE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_FIELD_NUMBER: _ClassVar[int]
    POLICY_CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    MAY_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    server_version: str
    bundle: str
    policies: _containers.RepeatedScalarFieldContainer[str]
    roles: _containers.RepeatedCompositeFieldContainer[RoleCapability]
    limits: Limits
    entries: int
    useful_picture_side: int
    memory: bool
    knowledge: KnowledgeCapability
    policy_capabilities: _containers.RepeatedCompositeFieldContainer[PolicyCapability]
    languages: _containers.RepeatedScalarFieldContainer[str]
    may: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedCompositeFieldContainer[SourceCapability]
    answers: str
    def __init__(self, server_version: _Optional[str] = ..., bundle: _Optional[str] = ..., policies: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[_Union[RoleCapability, _Mapping]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., entries: _Optional[int] = ..., useful_picture_side: _Optional[int] = ..., memory: _Optional[bool] = ..., knowledge: _Optional[_Union[KnowledgeCapability, _Mapping]] = ..., policy_capabilities: _Optional[_Iterable[_Union[PolicyCapability, _Mapping]]] = ..., languages: _Optional[_Iterable[str]] = ..., may: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[_Union[SourceCapability, _Mapping]]] = ..., answers: _Optional[str] = ...) -> None: ...

class SourceCapability(_message.Message):
    __slots__ = ("name", "kind", "finds", "remote", "ready", "notice")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FINDS_FIELD_NUMBER: _ClassVar[int]
    REMOTE_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    finds: _containers.RepeatedScalarFieldContainer[str]
    remote: bool
    ready: bool
    notice: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., finds: _Optional[_Iterable[str]] = ..., remote: _Optional[bool] = ..., ready: _Optional[bool] = ..., notice: _Optional[str] = ...) -> None: ...

class PolicyCapability(_message.Message):
    __slots__ = ("name", "servable", "missing", "without")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SERVABLE_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FIELD_NUMBER: _ClassVar[int]
    name: str
    servable: bool
    missing: _containers.RepeatedScalarFieldContainer[str]
    without: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., servable: _Optional[bool] = ..., missing: _Optional[_Iterable[str]] = ..., without: _Optional[_Iterable[str]] = ...) -> None: ...

class KnowledgeCapability(_message.Message):
    __slots__ = ("backend", "ready")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    backend: str
    ready: bool
    def __init__(self, backend: _Optional[str] = ..., ready: _Optional[bool] = ...) -> None: ...

class RoleCapability(_message.Message):
    __slots__ = ("role", "engine", "executor", "ready", "sees_pictures", "notice", "program")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    SEES_PICTURES_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    role: str
    engine: str
    executor: str
    ready: bool
    sees_pictures: bool
    notice: str
    program: str
    def __init__(self, role: _Optional[str] = ..., engine: _Optional[str] = ..., executor: _Optional[str] = ..., ready: _Optional[bool] = ..., sees_pictures: _Optional[bool] = ..., notice: _Optional[str] = ..., program: _Optional[str] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_frame_bytes", "max_frame_pixels", "max_question_chars", "max_history", "max_answer_tokens", "max_frame_aspect")
    MAX_FRAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FRAME_PIXELS_FIELD_NUMBER: _ClassVar[int]
    MAX_QUESTION_CHARS_FIELD_NUMBER: _ClassVar[int]
    MAX_HISTORY_FIELD_NUMBER: _ClassVar[int]
    MAX_ANSWER_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_FRAME_ASPECT_FIELD_NUMBER: _ClassVar[int]
    max_frame_bytes: int
    max_frame_pixels: int
    max_question_chars: int
    max_history: int
    max_answer_tokens: int
    max_frame_aspect: float
    def __init__(self, max_frame_bytes: _Optional[int] = ..., max_frame_pixels: _Optional[int] = ..., max_question_chars: _Optional[int] = ..., max_history: _Optional[int] = ..., max_answer_tokens: _Optional[int] = ..., max_frame_aspect: _Optional[float] = ...) -> None: ...
