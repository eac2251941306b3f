"""Entries as rows of Milvus, and the expressions that choose rows.

An entry exists when its row of part 0 does: that is written last and deleted first, so that no reader sees half of an
entry. Its other rows carry the same `revision`; rows of other revisions are left over from writes before, or from ones
that were interrupted, and no reader sees those either.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quizglass.values import Entry, Filter
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.chunks import passage
from quizglass_server.knowledge.content.records import EntryDraft, VectorKind
from quizglass_server.knowledge.content.spacing import spaced

PART_CHARS = 16_000
"""Characters of an entry's content in a row: at most 64,000 bytes, of the 65,535 that Milvus takes."""

OUTPUT = {VectorKind.CHUNKS: ["entry", "revision", "text"], VectorKind.PICTURES: ["entry", "revision", "look"]}
"""What a search needs of a row besides its vector."""

Row = dict[str, Any]
_NOTHING = [1.0, 0.0]
_SHA256_HEX = 64
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WILD = re.compile(r"[%_\\]")


@dataclass(frozen=True, slots=True)
class Head:
    """What makes an entry exist: its row of part 0, without the content."""

    entry: str
    revision: int
    parts: int
    expires: int
    """Seconds since 1970; 0: never."""
    chunks: int
    pictures: int

    FIELDS = ("entry", "revision", "parts", "expires", "chunks", "pictures")

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Head:
        """The head in a row."""
        return cls(str(row["entry"]), *(int(row[name]) for name in cls.FIELDS[1:]))


def entry_rows(draft: EntryDraft, revision: int, expires: int) -> list[Row]:
    """Rows of the collection of entries; the first one makes the entry exist."""
    entry = draft.entry
    content = json.dumps(_fields(entry), ensure_ascii=False)
    parts = [content[start : start + PART_CHARS] for start in range(0, len(content), PART_CHARS)]
    return [
        {
            "key": f"{entry.id}#{revision}#{number}" if number else entry.id,  # an id has no "#"
            "entry": entry.id,
            "revision": revision,
            "expires": expires,
            "part": number,
            "parts": len(parts),
            "chunks": len(draft.chunks),
            "pictures": len(draft.picture_vectors),
            "content": part,
            "nothing": _NOTHING,
        }
        for number, part in enumerate(parts)
    ]


def vector_rows(draft: EntryDraft, revision: int, expires: int) -> dict[VectorKind, list[Row]]:
    """Rows of the collections of vectors."""
    entry = draft.entry
    shared = {
        "entry": entry.id,
        "revision": revision,
        "expires": expires,
        "kind": entry.kind,
        "source": entry.source,
        "time": entry.time,
        "languages": tongues(entry.language),
        "facts": [fact_digest(key, value) for key, value in entry.attributes.items()],
    }
    key = f"{entry.id}#{revision}#"
    chunks = [
        {"key": f"{key}{n}", "text": text, "passage": spaced(passage(entry.title, text)), "vector": vector, **shared}
        for n, (text, vector) in enumerate(zip(draft.chunks, draft.chunk_vectors, strict=True))
    ]
    pictures = [
        {"key": f"{key}{n}", "look": perceptual_hash, "vector": vector, **shared}
        for n, (perceptual_hash, vector) in enumerate(zip(draft.perceptual_hashes, draft.picture_vectors, strict=True))
    ]
    return {VectorKind.CHUNKS: chunks, VectorKind.PICTURES: pictures}


def entry_of(content: str, head: Head, now: float) -> Entry:
    """The entry whose content this is. Raises KnowledgeFailed when it is not what this server wrote."""
    try:
        fields = json.loads(content)
        shown = fields.pop("pictures")
        return Entry(
            **fields,
            picture_sha256=tuple(
                bytes.fromhex(shown[start : start + _SHA256_HEX]) for start in range(0, len(shown), _SHA256_HEX)
            ),
            expires_after=max(1, int(head.expires - now)) if head.expires else 0,
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise KnowledgeFailed(f"entry {head.entry!r} in Milvus is damaged; add it again") from error


def vector_of(row: Mapping[str, Any]) -> Vector:
    """The vector of a row; empty when it was not asked for."""
    return np.asarray(row.get("vector", ()), dtype=np.float32)


def alive(now: float) -> str:
    """Rows of entries that have not expired."""
    return f"(expires == 0 or expires > {int(now)})"


def of_entries(ids: Iterable[str]) -> str:
    """Rows of these entries."""
    return f"entry in {_list(ids)}"


def titled(titles: Iterable[str]) -> str:
    """Rows of chunks whose entry has one of these titles: a passage begins with it. What Milvus would take for a
    wildcard is in no title that is found so."""
    starts = (spaced(passage(title, "")) for title in titles if not _WILD.search(title))
    alike = " or ".join(f"passage like {text_literal(f'{start}%')}" for start in starts)
    return alike or 'passage == ""'


def passing(wanted: Filter) -> Iterator[str]:
    """Rows of vectors whose entry passes a filter: all of these conditions."""
    if wanted.kinds:
        yield f"kind in {_list(wanted.kinds)}"
    if wanted.sources:
        yield f"source in {_list(wanted.sources)}"
    if wanted.languages:
        yield f"array_contains_any(languages, {_list(tag.lower() for tag in wanted.languages)})"
    if wanted.time_from:
        yield f"time >= {wanted.time_from}"
    if wanted.time_until:
        yield f"time > 0 and time < {wanted.time_until}"
    if wanted.attributes:
        digests = _list(fact_digest(key, value) for key, value in wanted.attributes.items())
        yield f"array_contains_all(facts, {digests})"


def every(conditions: Iterable[str]) -> str:
    """All of the conditions together."""
    return " and ".join(f"({condition})" for condition in conditions)


def text_literal(text: str) -> str:
    """A text inside an expression; nothing in it can end it. Control characters, which no entry has, are replaced."""
    return json.dumps(_CONTROL.sub("\ufffd", text), ensure_ascii=False)


def tongues(language: str) -> list[str]:
    """A language tag and what it is part of: "pt-BR" is also "pt"."""
    if not language:
        return []
    pieces = language.lower().split("-")
    return ["-".join(pieces[:count]) for count in range(1, len(pieces) + 1)]


def fact_digest(key: str, value: str) -> str:
    """An attribute as filters compare it, 32 hexadecimal digits."""
    return hashlib.blake2b(f"{len(key)} {key} {value}".encode(), digest_size=16).hexdigest()


def sliced(rows: Sequence[Row], most: int, most_bytes: int) -> Iterator[list[Row]]:
    """Rows some at a time, so that no message is too large."""
    piece: list[Row] = []
    size = 0
    for row in rows:
        weight = sum(_weight(value) for value in row.values())
        if piece and (len(piece) == most or size + weight > most_bytes):
            yield piece
            piece, size = [], 0
        piece.append(row)
        size += weight
    if piece:
        yield piece


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return 4 * len(value)
    return (
        int(value.nbytes) if isinstance(value, np.ndarray) else 64 + 40 * (len(value) if isinstance(value, list) else 0)
    )


def _fields(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "title": entry.title,
        "caption": entry.caption,
        "kind": entry.kind,
        "text": entry.text,
        "attributes": entry.attributes,
        "source": entry.source,
        "language": entry.language,
        "text_format": entry.text_format,
        "time": entry.time,
        "pictures": b"".join(entry.picture_sha256).hex(),
    }


def _list(values: Iterable[str]) -> str:
    """Texts to compare with; one with a control character is equal to nothing that is stored."""
    return "[" + ", ".join(text_literal(value) for value in values if not _CONTROL.search(value)) + "]"
