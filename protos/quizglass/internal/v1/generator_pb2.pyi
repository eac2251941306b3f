from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    END_REASON_UNSPECIFIED: _ClassVar[EndReason]
    END_REASON_STOP: _ClassVar[EndReason]
    END_REASON_LENGTH: _ClassVar[EndReason]
END_REASON_UNSPECIFIED: EndReason
END_REASON_STOP: EndReason
END_REASON_LENGTH: EndReason

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

class GenerateRequest(_message.Message):
    __slots__ = ("prompt", "max_tokens")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    prompt: _containers.RepeatedCompositeFieldContainer[Segment]
    max_tokens: int
    def __init__(self, prompt: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., max_tokens: _Optional[int] = ...) -> None: ...

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
    __slots__ = ("reason", "usage")
    REASON_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    reason: EndReason
    usage: Usage
    def __init__(self, reason: _Optional[_Union[EndReason, str]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

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
    __slots__ = ("prompt", "labels")
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    prompt: _containers.RepeatedCompositeFieldContainer[Segment]
    labels: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, prompt: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., labels: _Optional[_Iterable[str]] = ...) -> None: ...

class ChooseResponse(_message.Message):
    __slots__ = ("probabilities", "usage")
    PROBABILITIES_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    probabilities: _containers.RepeatedScalarFieldContainer[float]
    usage: Usage
    def __init__(self, probabilities: _Optional[_Iterable[float]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class GetInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetInfoResponse(_message.Message):
    __slots__ = ("description", "context", "threads", "pending", "decode_steps", "encoded_pictures")
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    DECODE_STEPS_FIELD_NUMBER: _ClassVar[int]
    ENCODED_PICTURES_FIELD_NUMBER: _ClassVar[int]
    description: str
    context: int
    threads: int
    pending: int
    decode_steps: int
    encoded_pictures: int
    def __init__(self, description: _Optional[str] = ..., context: _Optional[int] = ..., threads: _Optional[int] = ..., pending: _Optional[int] = ..., decode_steps: _Optional[int] = ..., encoded_pictures: _Optional[int] = ...) -> None: ...
