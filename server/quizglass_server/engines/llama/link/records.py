"""Plain values as bytes: what calls between the server and its generator process take and give.

A record is JSON, with the bytes in it (a picture's pixels) behind it as they are: the length of the JSON (4 bytes,
little endian), the JSON, the bytes in the order in which the JSON names them. The dataclasses of `prompt` are objects
with their class's name and fields; what their sequences hold comes back as tuples. Both ends are of one version, so
that the classes themselves are the schema. Times are those of `time.monotonic()`, which all processes share.
"""

from __future__ import annotations

import json
from dataclasses import fields
from struct import Struct
from typing import Any

from quizglass_server.engines.llama.link.prompt import (
    Constraint,
    EngineStats,
    Failure,
    Finished,
    PicturePart,
    Piece,
    TextPart,
    Urgency,
    Usage,
)

_LENGTH = Struct("<I")
_NAME = ""
"""Key of the name of a class; no field has it."""
_BYTES = "bytes"
_CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(TextPart, PicturePart, Urgency, Constraint),
        *(Piece, Finished, Usage, EngineStats, Failure),
    )
}
_FIELDS = {name: [field.name for field in fields(kind)] for name, kind in _CLASSES.items()}


def encode(value: object) -> bytes:
    """None, truth values, numbers, texts, bytes, the classes above, and lists and tuples of them, as bytes.

    Raises:
        TypeError: there is something else in it.
    """
    behind: list[bytes] = []

    def plain(value: object) -> dict[str, object]:
        if isinstance(value, bytes):
            behind.append(value)
            return {_NAME: _BYTES, "size": len(value)}
        name = type(value).__name__
        if name not in _FIELDS:
            raise TypeError(f"a {name} cannot be sent")
        return {_NAME: name, **{field: getattr(value, field) for field in _FIELDS[name]}}

    text = json.dumps(value, default=plain, separators=(",", ":")).encode()
    return b"".join((_LENGTH.pack(len(text)), text, *behind))


def decode(record: bytes) -> Any:
    """What `encode` was given; tuples outside the classes have become lists.

    Raises:
        ValueError: it is no record.
    """
    start = 0

    def restored(plain: dict[str, Any]) -> object:
        nonlocal start
        name = plain.pop(_NAME)
        if name == _BYTES:
            start += plain["size"]
            return record[start - plain["size"] : start]
        return _CLASSES[name](**{key: tuple(each) if isinstance(each, list) else each for key, each in plain.items()})

    try:
        (length,) = _LENGTH.unpack_from(record)
        start = _LENGTH.size + length
        value = json.loads(record[_LENGTH.size : start], object_hook=restored)
    except Exception as error:  # whatever the record makes of the classes
        raise ValueError("no record") from error
    if start != len(record):
        raise ValueError(f"a record of {start} bytes in {len(record)}")
    return value
