from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SightingOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGHTING_ORDER_UNSPECIFIED: _ClassVar[SightingOrder]
    SIGHTING_ORDER_LATEST: _ClassVar[SightingOrder]
    SIGHTING_ORDER_BEST: _ClassVar[SightingOrder]
SIGHTING_ORDER_UNSPECIFIED: SightingOrder
SIGHTING_ORDER_LATEST: SightingOrder
SIGHTING_ORDER_BEST: SightingOrder

class Sighting(_message.Message):
    __slots__ = ("id", "time", "age_s", "session_id", "frame_sha256", "question", "answer", "recognised", "expires_after_s", "score", "has_thumbnail")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FRAME_SHA256_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    RECOGNISED_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    HAS_THUMBNAIL_FIELD_NUMBER: _ClassVar[int]
    id: str
    time: int
    age_s: int
    session_id: str
    frame_sha256: bytes
    question: str
    answer: str
    recognised: _containers.RepeatedScalarFieldContainer[str]
    expires_after_s: int
    score: float
    has_thumbnail: bool
    def __init__(self, id: _Optional[str] = ..., time: _Optional[int] = ..., age_s: _Optional[int] = ..., session_id: _Optional[str] = ..., frame_sha256: _Optional[bytes] = ..., question: _Optional[str] = ..., answer: _Optional[str] = ..., recognised: _Optional[_Iterable[str]] = ..., expires_after_s: _Optional[int] = ..., score: _Optional[float] = ..., has_thumbnail: _Optional[bool] = ...) -> None: ...

class SightingFilter(_message.Message):
    __slots__ = ("time_from", "time_until", "session_id", "frame_sha256")
    TIME_FROM_FIELD_NUMBER: _ClassVar[int]
    TIME_UNTIL_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FRAME_SHA256_FIELD_NUMBER: _ClassVar[int]
    time_from: int
    time_until: int
    session_id: str
    frame_sha256: bytes
    def __init__(self, time_from: _Optional[int] = ..., time_until: _Optional[int] = ..., session_id: _Optional[str] = ..., frame_sha256: _Optional[bytes] = ...) -> None: ...

class SearchMemoryRequest(_message.Message):
    __slots__ = ("picture", "text", "filter", "limit", "order", "least_score")
    PICTURE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    LEAST_SCORE_FIELD_NUMBER: _ClassVar[int]
    picture: bytes
    text: str
    filter: SightingFilter
    limit: int
    order: SightingOrder
    least_score: float
    def __init__(self, picture: _Optional[bytes] = ..., text: _Optional[str] = ..., filter: _Optional[_Union[SightingFilter, _Mapping]] = ..., limit: _Optional[int] = ..., order: _Optional[_Union[SightingOrder, str]] = ..., least_score: _Optional[float] = ...) -> None: ...

class SearchMemoryResponse(_message.Message):
    __slots__ = ("sightings",)
    SIGHTINGS_FIELD_NUMBER: _ClassVar[int]
    sightings: _containers.RepeatedCompositeFieldContainer[Sighting]
    def __init__(self, sightings: _Optional[_Iterable[_Union[Sighting, _Mapping]]] = ...) -> None: ...

class GetThumbnailRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class GetThumbnailResponse(_message.Message):
    __slots__ = ("jpeg",)
    JPEG_FIELD_NUMBER: _ClassVar[int]
    jpeg: bytes
    def __init__(self, jpeg: _Optional[bytes] = ...) -> None: ...

class ForgetMemoryRequest(_message.Message):
    __slots__ = ("filter", "everything")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    filter: SightingFilter
    everything: bool
    def __init__(self, filter: _Optional[_Union[SightingFilter, _Mapping]] = ..., everything: _Optional[bool] = ...) -> None: ...

class ForgetMemoryResponse(_message.Message):
    __slots__ = ("forgotten", "sequence")
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    forgotten: int
    sequence: int
    def __init__(self, forgotten: _Optional[int] = ..., sequence: _Optional[int] = ...) -> None: ...

class CompactMemoryRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CompactMemoryResponse(_message.Message):
    __slots__ = ("sequence",)
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ...) -> None: ...

class GetMemoryStatsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetMemoryStatsResponse(_message.Message):
    __slots__ = ("sightings", "bytes", "oldest_time", "latest_time", "ttl_s", "max_sightings", "max_bytes", "waiting", "remembered", "dropped", "failed")
    SIGHTINGS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    OLDEST_TIME_FIELD_NUMBER: _ClassVar[int]
    LATEST_TIME_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    MAX_SIGHTINGS_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    REMEMBERED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    sightings: int
    bytes: int
    oldest_time: int
    latest_time: int
    ttl_s: int
    max_sightings: int
    max_bytes: int
    waiting: int
    remembered: int
    dropped: int
    failed: int
    def __init__(self, sightings: _Optional[int] = ..., bytes: _Optional[int] = ..., oldest_time: _Optional[int] = ..., latest_time: _Optional[int] = ..., ttl_s: _Optional[int] = ..., max_sightings: _Optional[int] = ..., max_bytes: _Optional[int] = ..., waiting: _Optional[int] = ..., remembered: _Optional[int] = ..., dropped: _Optional[int] = ..., failed: _Optional[int] = ...) -> None: ...
