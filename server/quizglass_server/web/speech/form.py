"""Forms with files (multipart/form-data, RFC 7578), read with python-multipart; how much they may hold is bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from quizglass_server.errors import InvalidInput

_MOST_PARTS, _MOST_HEADER, _MOST_FIELD = 32, 4096, 16_384
"""Parts of a form, bytes of one part's headers, bytes of a field that is no file."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a form has; of several fields of one name the last."""

    fields: Mapping[str, str]
    files: Mapping[str, bytes]


@dataclass
class _Part:
    """One part while it is read."""

    head: bytearray = field(default_factory=bytearray)
    """Of its headers, the one that is read now."""
    name: str = ""
    is_file: bool = False
    content: bytearray = field(default_factory=bytearray)
    _key: bytes = b""
    _size: int = 0

    def header(self, data: bytes, start: int, end: int) -> None:
        """Take a piece of a header's name or value."""
        self._size += end - start
        if self._size > _MOST_HEADER:
            raise InvalidInput("body", f"has a part with more than {_MOST_HEADER} bytes of headers")
        self.head += data[start:end]

    def header_name(self) -> None:
        """The name is whole once the value begins."""
        if not self._key:
            self._key, self.head = bytes(self.head), bytearray()

    def header_end(self) -> None:
        """Take a header that is whole."""
        if self._key.lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self.head))
            self.name = options.get(b"name", b"").decode("utf-8", "replace")
            self.is_file = b"filename" in options
        self._key, self.head = b"", bytearray()

    def data(self, data: bytes, start: int, end: int) -> None:
        """Take a piece of the content."""
        self.content += memoryview(data)[start:end]
        if not self.is_file and len(self.content) > _MOST_FIELD:
            raise InvalidInput(self.name[:64] or "body", f"has more than {_MOST_FIELD} bytes")


def read_form(body: bytes, content_type: str) -> Form:
    """What a form has.

    Raises:
        InvalidInput: the body is none, or holds too much.
    """
    kind, options = parse_options_header(content_type.encode("latin-1"))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 1 <= len(boundary) <= 70:
        raise InvalidInput("body", "has to be multipart/form-data, with a boundary")
    parts: list[_Part] = []
    ended: list[bool] = []
    parser = MultipartParser(boundary, _callbacks(parts, ended))  # type: ignore[arg-type]
    try:
        parser.write(body)
        parser.finalize()
    except FormParserError:
        raise InvalidInput("body", "is no multipart/form-data as its header says") from None
    if not ended:
        raise InvalidInput("body", "ends before its form does")
    files = {part.name: bytes(part.content) for part in parts if part.is_file}
    fields = {part.name: part.content.decode("utf-8", "replace") for part in parts if not part.is_file}
    return Form(fields, files)


def _callbacks(parts: list[_Part], ended: list[bool]) -> dict[str, Callable[..., Any]]:
    def begin() -> None:
        if len(parts) == _MOST_PARTS:
            raise InvalidInput("body", f"has more than {_MOST_PARTS} parts")
        parts.append(_Part())

    def header_value(data: bytes, start: int, end: int) -> None:
        parts[-1].header_name()
        parts[-1].header(data, start, end)

    return {
        "on_part_begin": begin,
        "on_header_field": lambda data, start, end: parts[-1].header(data, start, end),
        "on_header_value": header_value,
        "on_header_end": lambda: parts[-1].header_end(),
        "on_part_data": lambda data, start, end: parts[-1].data(data, start, end),
        "on_end": lambda: ended.append(True),
    }
