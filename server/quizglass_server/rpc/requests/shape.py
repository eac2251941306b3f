"""Counts what a request consists of in its bytes, before it is a message.

A field may take two bytes on the wire and a hundred as a message: what is made of a request has to be known before.
Counting ends at the first field too many, so that it costs next to nothing, however long the request is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from quizglass_server.errors import InvalidInput
from quizglass_server.rpc.requests.packed import ZLIB_FIELD
from quizglass_server.rpc.requests.unreadable import Unreadable

MOST_FIELDS = 4096
"""Of one request, those of the messages in it included; an honest one has a tenth."""
_LENGTH_DELIMITED, _VARINT, _FIXED = 2, 0, {1: 8, 5: 4}
"""Wire types; of those of fixed size their bytes. Groups (3 and 4) are in no message since proto3."""
_LONGEST_VARINT = 10


@dataclass(frozen=True, slots=True)
class CountLimits:
    """How often the repeated fields of requests may come, and which fields are pictures."""

    most: Mapping[str, int]
    """Most items of a repeated field or a map, by message and field: "AskRequest.history"."""
    pictures: Collection[str]
    """Fields that may be large, by message and field: "Frame.encoded"."""

    def converted(self, name: str) -> int | None:
        """So many items are made into a message; None: any number.

        A few more than allowed, so that the readers of a request can name the excess.
        """
        most = self.most.get(name)
        return None if most is None else 2 * most + 8


@dataclass(frozen=True, slots=True, eq=False)
class _Field:
    """A field that is counted, or looked into."""

    path: str
    most: int | None
    """Most items, as errors name them; None: it is not repeated, or may have any number."""
    converted: int
    repeated: bool
    picture: bool
    inside: Mapping[int, _Field] | None
    """Of a message in a message: its fields that matter, by tag."""


class RequestShape:
    """What requests of one kind may consist of.

    Args:
        message: their kind.
        limits: of all kinds.

    Raises:
        ValueError: messages of this kind cannot be bounded.
    """

    def __init__(self, message: Descriptor, limits: CountLimits) -> None:
        zlib_like = message.fields_by_number.get(ZLIB_FIELD)
        if zlib_like is not None and zlib_like.message_type is None and zlib_like.type not in _LENGTHS:
            raise ValueError(f"{zlib_like.full_name}: messages could begin as compressed bytes do; take another number")
        self._fields = _fields_of(message, limits, "", ())

    def check(self, raw: bytes, most_beside: int) -> None:
        """Look at a request.

        Args:
            raw: its bytes.
            most_beside: bytes that it may have beside its pictures.

        Raises:
            InvalidInput: it has too many fields, items or bytes.
            Unreadable: it is no message.
        """
        count = _Count(raw)
        try:
            count.message(0, len(raw), self._fields, {})
        except IndexError:
            raise Unreadable from None
        beside = len(raw) - count.picture_bytes
        if beside > most_beside:
            raise InvalidInput("request", f"{beside} bytes beside its pictures is more than the {most_beside} allowed")


class _Count:
    """One look at the bytes of a message, from its beginning until something is too much. Raises IndexError for bytes
    that are no message.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._left = MOST_FIELDS
        self.picture_bytes = 0

    def message(self, at: int, end: int, fields: Mapping[int, _Field], counts: dict[_Field, int]) -> None:
        """Count the fields of a message between two places; `counts` has those of the message that it is a part of.

        A message that is not repeated may come in several pieces, which are put together: they are counted together.
        """
        raw = self._raw
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise InvalidInput("request", f"more than the {MOST_FIELDS} fields allowed")
            tag, at = raw[at], at + 1
            if tag > 127:
                tag, at = self._varint(at - 1)
            kind = tag & 7
            if kind == _LENGTH_DELIMITED:
                size, at = raw[at], at + 1
                if size > 127:
                    size, at = self._varint(at - 1)
                begin, at = at, at + size
                if at > end:
                    raise IndexError
                if (field := fields.get(tag)) is not None:
                    self._field(field, begin, at, counts)
            elif kind == _VARINT:
                at = at + 1 if raw[at] < 128 else self._varint(at)[1]
            else:
                at += _FIXED.get(kind, end)
        if at != end:
            raise IndexError

    def _field(self, field: _Field, begin: int, end: int, counts: dict[_Field, int]) -> None:
        if field.repeated:
            counts[field] = count = counts.get(field, 0) + 1
            if count > field.converted:
                raise InvalidInput(field.path, f"more than the {field.most} allowed")
            counts = {}
        if field.picture:
            self.picture_bytes += end - begin
        elif field.inside is not None:
            self.message(begin, end, field.inside, counts)

    def _varint(self, at: int) -> tuple[int, int]:
        value = 0
        for shift in range(0, 7 * _LONGEST_VARINT, 7):
            byte, at = self._raw[at], at + 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, at
        raise IndexError


_LENGTHS = {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}
"""Types that are written with their length, besides messages."""


def _fields_of(
    message: Descriptor, limits: CountLimits, path: str, above: tuple[Descriptor, ...]
) -> Mapping[int, _Field]:
    if message in above:
        raise ValueError(f"{message.full_name} may hold itself: nothing bounds its depth yet")
    found: dict[int, _Field] = {}
    for field in message.fields:
        name, inner = f"{message.name}.{field.name}", f"{path}{field.name}"
        if field.is_repeated and field.message_type is None and field.type not in _LENGTHS:
            raise ValueError(f"{field.full_name}: repeated numbers, which may be packed, are not counted yet")
        if not (field.is_repeated or field.message_type is not None or name in limits.pictures):
            continue
        below = field.message_type
        inside = None if below is None else _fields_of(below, limits, f"{inner}.", (*above, message))
        most, converted = limits.most.get(name), limits.converted(name)
        found[field.number << 3 | _LENGTH_DELIMITED] = _Field(
            inner,
            most,
            MOST_FIELDS if converted is None else converted,
            field.is_repeated,
            name in limits.pictures,
            inside,
        )
    return found
