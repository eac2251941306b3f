from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FailureReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_REASON_UNSPECIFIED: _ClassVar[FailureReason]
    FAILURE_REASON_REFUSED: _ClassVar[FailureReason]
    FAILURE_REASON_PIXELS_MISSING: _ClassVar[FailureReason]
    FAILURE_REASON_OVERLOADED: _ClassVar[FailureReason]
    FAILURE_REASON_FAILED: _ClassVar[FailureReason]
    FAILURE_REASON_TOO_LATE: _ClassVar[FailureReason]

class EndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    END_REASON_UNSPECIFIED: _ClassVar[EndReason]
    END_REASON_STOP: _ClassVar[EndReason]
    END_REASON_LENGTH: _ClassVar[EndReason]
    END_REASON_CANCELLED: _ClassVar[EndReason]
    END_REASON_DEADLINE: _ClassVar[EndReason]
FAILURE_REASON_UNSPECIFIED: FailureReason
FAILURE_REASON_REFUSED: FailureReason
FAILURE_REASON_PIXELS_MISSING: FailureReason
FAILURE_REASON_OVERLOADED: FailureReason
FAILURE_REASON_FAILED: FailureReason
FAILURE_REASON_TOO_LATE: FailureReason
END_REASON_UNSPECIFIED: EndReason
END_REASON_STOP: EndReason
END_REASON_LENGTH: EndReason
END_REASON_CANCELLED: EndReason
END_REASON_DEADLINE: EndReason

class Failure(_message.Message):
    __slots__ = ("reason", "message", "retry_after_us")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_US_FIELD_NUMBER: _ClassVar[int]
    reason: FailureReason
    message: str
    retry_after_us: int
    def __init__(self, reason: _Optional[_Union[FailureReason, str]] = ..., message: _Optional[str] = ..., retry_after_us: _Optional[int] = ...) -> None: ...

class Picture(_message.Message):
    __slots__ = ("sha256", "width", "height", "rgb")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    RGB_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    width: int
    height: int
    rgb: bytes
    def __init__(self, sha256: _Optional[bytes] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., rgb: _Optional[bytes] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("text", "data", "picture")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    PICTURE_FIELD_NUMBER: _ClassVar[int]
    text: str
    data: str
    picture: Picture
    def __init__(self, text: _Optional[str] = ..., data: _Optional[str] = ..., picture: _Optional[_Union[Picture, _Mapping]] = ...) -> None: ...

class Terms(_message.Message):
    __slots__ = ("priority", "time_left_us")
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIME_LEFT_US_FIELD_NUMBER: _ClassVar[int]
    priority: int
    time_left_us: int
    def __init__(self, priority: _Optional[int] = ..., time_left_us: _Optional[int] = ...) -> None: ...

class Labels(_message.Message):
    __slots__ = ("labels",)
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, labels: _Optional[_Iterable[str]] = ...) -> None: ...

class Constraint(_message.Message):
    __slots__ = ("labels", "grammar", "json_schema")
    LABELS_FIELD_NUMBER: _ClassVar[int]
    GRAMMAR_FIELD_NUMBER: _ClassVar[int]
    JSON_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    labels: Labels
    grammar: str
    json_schema: str
    def __init__(self, labels: _Optional[_Union[Labels, _Mapping]] = ..., grammar: _Optional[str] = ..., json_schema: _Optional[str] = ...) -> None: ...

class GenerateRequest(_message.Message):
    __slots__ = ("prompt", "max_tokens", "terms", "constraint")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    prompt: _containers.RepeatedCompositeFieldContainer[Segment]
    max_tokens: int
    terms: Terms
    constraint: Constraint
    def __init__(self, prompt: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., max_tokens: _Optional[int] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ..., constraint: _Optional[_Union[Constraint, _Mapping]] = ...) -> None: ...

class GenerateResponse(_message.Message):
    __slots__ = ("tokens", "end")
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[GeneratedToken]
    end: GenerationEnd
    def __init__(self, tokens: _Optional[_Iterable[_Union[GeneratedToken, _Mapping]]] = ..., end: _Optional[_Union[GenerationEnd, _Mapping]] = ...) -> None: ...

class GeneratedToken(_message.Message):
    __slots__ = ("text", "probability")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    text: str
    probability: float
    def __init__(self, text: _Optional[str] = ..., probability: _Optional[float] = ...) -> None: ...

class GenerationEnd(_message.Message):
    __slots__ = ("reason", "usage", "min_probability", "mean_probability")
    REASON_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    MIN_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    MEAN_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    reason: EndReason
    usage: Usage
    min_probability: float
    mean_probability: float
    def __init__(self, reason: _Optional[_Union[EndReason, str]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., min_probability: _Optional[float] = ..., mean_probability: _Optional[float] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("prompt_tokens", "reused_tokens", "generated_tokens", "engine_us", "encoded_picture")
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    REUSED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    GENERATED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ENGINE_US_FIELD_NUMBER: _ClassVar[int]
    ENCODED_PICTURE_FIELD_NUMBER: _ClassVar[int]
    prompt_tokens: int
    reused_tokens: int
    generated_tokens: int
    engine_us: int
    encoded_picture: bool
    def __init__(self, prompt_tokens: _Optional[int] = ..., reused_tokens: _Optional[int] = ..., generated_tokens: _Optional[int] = ..., engine_us: _Optional[int] = ..., encoded_picture: _Optional[bool] = ...) -> None: ...

class ChooseRequest(_message.Message):
    __slots__ = ("prompt", "labels", "terms")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    prompt: _containers.RepeatedCompositeFieldContainer[Segment]
    labels: _containers.RepeatedScalarFieldContainer[str]
    terms: Terms
    def __init__(self, prompt: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., labels: _Optional[_Iterable[str]] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ...) -> None: ...

class ChooseResponse(_message.Message):
    __slots__ = ("probabilities", "usage")
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    probabilities: _containers.RepeatedScalarFieldContainer[float]
    usage: Usage
    def __init__(self, probabilities: _Optional[_Iterable[float]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class ScoreRequest(_message.Message):
    __slots__ = ("prompt", "answer", "terms")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    prompt: _containers.RepeatedCompositeFieldContainer[Segment]
    answer: str
    terms: Terms
    def __init__(self, prompt: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., answer: _Optional[str] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ...) -> None: ...

class ScoreResponse(_message.Message):
    __slots__ = ("log_probabilities", "usage")
    LOG_PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    log_probabilities: _containers.RepeatedScalarFieldContainer[float]
    usage: Usage
    def __init__(self, log_probabilities: _Optional[_Iterable[float]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class PrefillRequest(_message.Message):
    __slots__ = ("prompt", "terms")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    prompt: _containers.RepeatedCompositeFieldContainer[Segment]
    terms: Terms
    def __init__(self, prompt: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ...) -> None: ...

class PrefillResponse(_message.Message):
    __slots__ = ("usage",)
    USAGE_FIELD_NUMBER: _ClassVar[int]
    usage: Usage
    def __init__(self, usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class GetInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetInfoResponse(_message.Message):
    __slots__ = ("description", "context", "threads", "pending", "vitals")
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    VITALS_FIELD_NUMBER: _ClassVar[int]
    description: str
    context: int
    threads: int
    pending: int
    vitals: Vitals
    def __init__(self, description: _Optional[str] = ..., context: _Optional[int] = ..., threads: _Optional[int] = ..., pending: _Optional[int] = ..., vitals: _Optional[_Union[Vitals, _Mapping]] = ...) -> None: ...

class Vitals(_message.Message):
    __slots__ = ("silent_us", "busy", "active", "waiting", "cells_used", "cells", "decode_steps", "encoded_pictures", "kept", "reused_tokens", "prefilled_tokens", "step_us", "prefill_us", "piece", "encoding_us", "encode_us")
    SILENT_US_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    CELLS_USED_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    DECODE_STEPS_FIELD_NUMBER: _ClassVar[int]
    ENCODED_PICTURES_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    REUSED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PREFILLED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    STEP_US_FIELD_NUMBER: _ClassVar[int]
    PREFILL_US_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    ENCODING_US_FIELD_NUMBER: _ClassVar[int]
    ENCODE_US_FIELD_NUMBER: _ClassVar[int]
    silent_us: int
    busy: bool
    active: int
    waiting: int
    cells_used: int
    cells: int
    decode_steps: int
    encoded_pictures: int
    kept: int
    reused_tokens: int
    prefilled_tokens: int
    step_us: _containers.RepeatedScalarFieldContainer[int]
    prefill_us: int
    piece: int
    encoding_us: int
    encode_us: int
    def __init__(self, silent_us: _Optional[int] = ..., busy: _Optional[bool] = ..., active: _Optional[int] = ..., waiting: _Optional[int] = ..., cells_used: _Optional[int] = ..., cells: _Optional[int] = ..., decode_steps: _Optional[int] = ..., encoded_pictures: _Optional[int] = ..., kept: _Optional[int] = ..., reused_tokens: _Optional[int] = ..., prefilled_tokens: _Optional[int] = ..., step_us: _Optional[_Iterable[int]] = ..., prefill_us: _Optional[int] = ..., piece: _Optional[int] = ..., encoding_us: _Optional[int] = ..., encode_us: _Optional[int] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("interval_us",)
    INTERVAL_US_FIELD_NUMBER: _ClassVar[int]
    interval_us: int
    def __init__(self, interval_us: _Optional[int] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("vitals",)
    VITALS_FIELD_NUMBER: _ClassVar[int]
    vitals: Vitals
    def __init__(self, vitals: _Optional[_Union[Vitals, _Mapping]] = ...) -> None: ...

class SaveRequest(_message.Message):
    __slots__ = ("directory",)
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    directory: str
    def __init__(self, directory: _Optional[str] = ...) -> None: ...

class SaveResponse(_message.Message):
    __slots__ = ("prefixes",)
    PREFIXES_FIELD_NUMBER: _ClassVar[int]
    prefixes: int
    def __init__(self, prefixes: _Optional[int] = ...) -> None: ...
