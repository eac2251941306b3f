from quizglass.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TextFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TEXT_FORMAT_UNSPECIFIED: _ClassVar[TextFormat]
    TEXT_FORMAT_PLAIN: _ClassVar[TextFormat]
    TEXT_FORMAT_MARKDOWN: _ClassVar[TextFormat]
    TEXT_FORMAT_HTML: _ClassVar[TextFormat]

class SearchMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_MODE_UNSPECIFIED: _ClassVar[SearchMode]
    SEARCH_MODE_HYBRID: _ClassVar[SearchMode]
    SEARCH_MODE_VECTORS: _ClassVar[SearchMode]
    SEARCH_MODE_KEYWORDS: _ClassVar[SearchMode]
TEXT_FORMAT_UNSPECIFIED: TextFormat
TEXT_FORMAT_PLAIN: TextFormat
TEXT_FORMAT_MARKDOWN: TextFormat
TEXT_FORMAT_HTML: TextFormat
SEARCH_MODE_UNSPECIFIED: SearchMode
SEARCH_MODE_HYBRID: SearchMode
SEARCH_MODE_VECTORS: SearchMode
SEARCH_MODE_KEYWORDS: SearchMode

class Entry(_message.Message):
    __slots__ = ("id", "title", "caption", "kind", "text", "attributes", "source", "pictures", "picture_sha256", "language", "text_format", "time", "expires_after_s")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CAPTION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    PICTURE_SHA256_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FORMAT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AFTER_S_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    caption: str
    kind: str
    text: str
    attributes: _containers.ScalarMap[str, str]
    source: str
    pictures: _containers.RepeatedScalarFieldContainer[bytes]
    picture_sha256: _containers.RepeatedScalarFieldContainer[bytes]
    language: str
    text_format: TextFormat
    time: int
    expires_after_s: int
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., caption: _Optional[str] = ..., kind: _Optional[str] = ..., text: _Optional[str] = ..., attributes: _Optional[_Mapping[str, str]] = ..., source: _Optional[str] = ..., pictures: _Optional[_Iterable[bytes]] = ..., picture_sha256: _Optional[_Iterable[bytes]] = ..., language: _Optional[str] = ..., text_format: _Optional[_Union[TextFormat, str]] = ..., time: _Optional[int] = ..., expires_after_s: _Optional[int] = ...) -> None: ...

class AddEntriesRequest(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class RefusedEntry(_message.Message):
    __slots__ = ("id", "index", "field", "message")
    ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    id: str
    index: int
    field: str
    message: str
    def __init__(self, id: _Optional[str] = ..., index: _Optional[int] = ..., field: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class AddEntriesResponse(_message.Message):
    __slots__ = ("added", "refused", "created", "changed", "unchanged")
    ADDED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    added: int
    refused: _containers.RepeatedCompositeFieldContainer[RefusedEntry]
    created: int
    changed: int
    unchanged: int
    def __init__(self, added: _Optional[int] = ..., refused: _Optional[_Iterable[_Union[RefusedEntry, _Mapping]]] = ..., created: _Optional[int] = ..., changed: _Optional[int] = ..., unchanged: _Optional[int] = ...) -> None: ...

class GetEntryRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class GetEntryResponse(_message.Message):
    __slots__ = ("entry",)
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    entry: Entry
    def __init__(self, entry: _Optional[_Union[Entry, _Mapping]] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListEntriesResponse(_message.Message):
    __slots__ = ("entries", "next_page_token", "total")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[Entry]
    next_page_token: str
    total: int
    def __init__(self, entries: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total: _Optional[int] = ...) -> None: ...

class DeleteEntryRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class DeleteEntryResponse(_message.Message):
    __slots__ = ("sequence", "chunks", "pictures")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    chunks: int
    pictures: int
    def __init__(self, sequence: _Optional[int] = ..., chunks: _Optional[int] = ..., pictures: _Optional[int] = ...) -> None: ...

class GetPictureRequest(_message.Message):
    __slots__ = ("sha256",)
    SHA256_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    def __init__(self, sha256: _Optional[bytes] = ...) -> None: ...

class GetPictureResponse(_message.Message):
    __slots__ = ("encoded",)
    ENCODED_FIELD_NUMBER: _ClassVar[int]
    encoded: bytes
    def __init__(self, encoded: _Optional[bytes] = ...) -> None: ...

class CompactEntriesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CompactEntriesResponse(_message.Message):
    __slots__ = ("sequence",)
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ...) -> None: ...

class EntryFilter(_message.Message):
    __slots__ = ("attributes", "kinds", "sources", "languages", "time_from", "time_until")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    LANGUAGES_FIELD_NUMBER: _ClassVar[int]
    TIME_FROM_FIELD_NUMBER: _ClassVar[int]
    TIME_UNTIL_FIELD_NUMBER: _ClassVar[int]
    attributes: _containers.ScalarMap[str, str]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedScalarFieldContainer[str]
    languages: _containers.RepeatedScalarFieldContainer[str]
    time_from: int
    time_until: int
    def __init__(self, attributes: _Optional[_Mapping[str, str]] = ..., kinds: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[str]] = ..., languages: _Optional[_Iterable[str]] = ..., time_from: _Optional[int] = ..., time_until: _Optional[int] = ...) -> None: ...

class SearchEntriesRequest(_message.Message):
    __slots__ = ("text", "picture", "limit", "filter", "more_pictures", "per_entry", "fold_near_duplicates", "mode")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PICTURE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    MORE_PICTURES_FIELD_NUMBER: _ClassVar[int]
    PER_ENTRY_FIELD_NUMBER: _ClassVar[int]
    FOLD_NEAR_DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    text: str
    picture: bytes
    limit: int
    filter: EntryFilter
    more_pictures: _containers.RepeatedScalarFieldContainer[bytes]
    per_entry: bool
    fold_near_duplicates: bool
    mode: SearchMode
    def __init__(self, text: _Optional[str] = ..., picture: _Optional[bytes] = ..., limit: _Optional[int] = ..., filter: _Optional[_Union[EntryFilter, _Mapping]] = ..., more_pictures: _Optional[_Iterable[bytes]] = ..., per_entry: _Optional[bool] = ..., fold_near_duplicates: _Optional[bool] = ..., mode: _Optional[_Union[SearchMode, str]] = ...) -> None: ...

class SearchEntriesResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[_types_pb2.Evidence]
    def __init__(self, results: _Optional[_Iterable[_Union[_types_pb2.Evidence, _Mapping]]] = ...) -> None: ...
