from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Plan(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLAN_UNSPECIFIED: _ClassVar[Plan]
    PLAN_NONE: _ClassVar[Plan]
    PLAN_IMAGE: _ClassVar[Plan]
    PLAN_TEXT: _ClassVar[Plan]
    PLAN_BOTH: _ClassVar[Plan]
PLAN_UNSPECIFIED: Plan
PLAN_NONE: Plan
PLAN_IMAGE: Plan
PLAN_TEXT: Plan
PLAN_BOTH: Plan

class Frame(_message.Message):
    __slots__ = ("encoded", "sha256", "age_us")
    ENCODED_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    AGE_US_FIELD_NUMBER: _ClassVar[int]
    encoded: bytes
    sha256: bytes
    age_us: int
    def __init__(self, encoded: _Optional[bytes] = ..., sha256: _Optional[bytes] = ..., age_us: _Optional[int] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("id", "origin", "entry_id", "title", "text", "search_score", "rerank_score", "source", "used", "picture_sha256")
    class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ORIGIN_UNSPECIFIED: _ClassVar[Evidence.Origin]
        ORIGIN_IMAGE_SEARCH: _ClassVar[Evidence.Origin]
        ORIGIN_TEXT_SEARCH: _ClassVar[Evidence.Origin]
        ORIGIN_READ_TEXT: _ClassVar[Evidence.Origin]
        ORIGIN_MEMORY: _ClassVar[Evidence.Origin]
    ORIGIN_UNSPECIFIED: Evidence.Origin
    ORIGIN_IMAGE_SEARCH: Evidence.Origin
    ORIGIN_TEXT_SEARCH: Evidence.Origin
    ORIGIN_READ_TEXT: Evidence.Origin
    ORIGIN_MEMORY: Evidence.Origin
    ID_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SEARCH_SCORE_FIELD_NUMBER: _ClassVar[int]
    RERANK_SCORE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    PICTURE_SHA256_FIELD_NUMBER: _ClassVar[int]
    id: str
    origin: Evidence.Origin
    entry_id: str
    title: str
    text: str
    search_score: float
    rerank_score: float
    source: str
    used: bool
    picture_sha256: bytes
    def __init__(self, id: _Optional[str] = ..., origin: _Optional[_Union[Evidence.Origin, str]] = ..., entry_id: _Optional[str] = ..., title: _Optional[str] = ..., text: _Optional[str] = ..., search_score: _Optional[float] = ..., rerank_score: _Optional[float] = ..., source: _Optional[str] = ..., used: _Optional[bool] = ..., picture_sha256: _Optional[bytes] = ...) -> None: ...

class StageTiming(_message.Message):
    __slots__ = ("stage", "duration_us", "engine_us", "round")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    ENGINE_US_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    stage: str
    duration_us: int
    engine_us: int
    round: int
    def __init__(self, stage: _Optional[str] = ..., duration_us: _Optional[int] = ..., engine_us: _Optional[int] = ..., round: _Optional[int] = ...) -> None: ...
