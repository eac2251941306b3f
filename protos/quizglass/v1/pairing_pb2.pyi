from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class CreatePairingRequest(_message.Message):
    __slots__ = ("name", "may", "expires_after_s", "page")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    name: str
    may: _containers.RepeatedScalarFieldContainer[str]
    expires_after_s: int
    page: str
    def __init__(self, name: _Optional[str] = ..., may: _Optional[_Iterable[str]] = ..., expires_after_s: _Optional[int] = ..., page: _Optional[str] = ...) -> None: ...

class CreatePairingResponse(_message.Message):
    __slots__ = ("code", "link", "qr_svg", "valid_s")
    CODE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    QR_SVG_FIELD_NUMBER: _ClassVar[int]
    VALID_S_FIELD_NUMBER: _ClassVar[int]
    code: str
    link: str
    qr_svg: bytes
    valid_s: int
    def __init__(self, code: _Optional[str] = ..., link: _Optional[str] = ..., qr_svg: _Optional[bytes] = ..., valid_s: _Optional[int] = ...) -> None: ...

class RedeemPairingRequest(_message.Message):
    __slots__ = ("code",)
    CODE_FIELD_NUMBER: _ClassVar[int]
    code: str
    def __init__(self, code: _Optional[str] = ...) -> None: ...

class RedeemPairingResponse(_message.Message):
    __slots__ = ("token", "name", "may", "expires", "authority")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAY_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    AUTHORITY_FIELD_NUMBER: _ClassVar[int]
    token: str
    name: str
    may: _containers.RepeatedScalarFieldContainer[str]
    expires: int
    authority: str
    def __init__(self, token: _Optional[str] = ..., name: _Optional[str] = ..., may: _Optional[_Iterable[str]] = ..., expires: _Optional[int] = ..., authority: _Optional[str] = ...) -> None: ...
