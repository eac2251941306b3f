"""What passes between the database, the indexes and the import."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quizglass.values import Entry, Refused
from quizglass_server.domain.turns import Vector
from quizglass_server.errors import NotFound

Labels = NDArray[np.int64]
"""Numbers of vectors, or of their entries: int64 [n]."""
Matrix = NDArray[np.float32]
"""Vectors, one a row: float32 [n, dimension]."""


class VectorKind(Enum):
    """What a vector stands for; the name of its table and of its index."""

    PICTURES = "pictures"
    CHUNKS = "chunks"


@dataclass(slots=True)
class KnownContent:
    """What a store has of an entry's content already, made by the encoders that are in use."""

    chunks: Sequence[str] | None = None
    """Its chunks, if its words are stored just so; None: it has to be cut."""
    chunk_vectors: dict[str, Vector] = field(default_factory=dict)
    """Vectors of chunks below the same title, by their text."""
    pictures: dict[bytes, tuple[Vector, int]] = field(default_factory=dict)
    """Vector and perceptual hash of its pictures, by SHA-256."""


@dataclass(slots=True)
class EntryDraft:
    """An entry on its way into the database. Vectors are put in their places as they are embedded."""

    entry: Entry
    chunks: Sequence[str] = ()
    pictures: Sequence[bytes] = ()
    """Encoded; their SHA-256 are `entry.picture_sha256`."""
    chunk_vectors: list[Vector] = field(default_factory=list)
    picture_vectors: list[Vector] = field(default_factory=list)
    perceptual_hashes: list[int] = field(default_factory=list)
    """What near-duplicates share, one a picture (`perceptual_hash.py`)."""


@dataclass(slots=True)
class Additions:
    """New vectors of one kind."""

    labels: list[int] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    """Number of the entry each belongs to."""
    vectors: list[Vector] = field(default_factory=list)


@dataclass(slots=True)
class Filed:
    """An entry as it was written."""

    number: int
    entry: Entry
    expires: int
    """Seconds since 1970, 0: never."""


@dataclass(slots=True)
class Replacements:
    """How many entries took the place of one that was there: of one with other content, or with the same."""

    changed: int = 0
    unchanged: int = 0

    def note(self, before: Entry | None, after: Entry) -> None:
        """An entry came after one of its id, or after none. The life of one that expires begins anew: it is changed."""
        if before is None:
            return
        same = not (before.expires_after or after.expires_after) and before == after
        self.unchanged += same
        self.changed += not same


@dataclass(slots=True)
class Change:
    """What a commit did, for the indexes to follow."""

    added: dict[VectorKind, Additions] = field(default_factory=lambda: {kind: Additions() for kind in VectorKind})
    removed: dict[VectorKind, list[int]] = field(default_factory=lambda: {kind: [] for kind in VectorKind})
    filed: list[Filed] = field(default_factory=list)
    passages: list[tuple[int, str]] = field(default_factory=list)
    """Labels of new chunks and what encoders see of them, by ascending label."""
    rows: dict[VectorKind, dict[int, Hit]] = field(default_factory=lambda: {kind: {} for kind in VectorKind})
    """What new labels stand for, of entries that were added."""
    replaced: Replacements = field(default_factory=Replacements)
    gone: list[int] = field(default_factory=list)
    """Numbers of the entries that were removed or replaced."""
    entries: int = 0
    """Entries after the commit minus entries before."""
    sequence: int = 0
    """Number of the commit (`StoreState.sequence`); set for deletions alone, else 0."""

    def note(self, kind: VectorKind, label: int, entry: int, vector: Vector) -> None:
        """A vector was added."""
        added = self.added[kind]
        added.labels.append(label)
        added.entries.append(entry)
        added.vectors.append(vector)


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """An index snapshot that belongs to the database."""

    file: str
    sha256: str
    space: str
    sequence: int


@dataclass(slots=True)
class AddReport:
    """What became of a stream of entries. What was added is on disk."""

    added: int = 0
    refused: list[Refused] = field(default_factory=list)
    changed: int = 0
    """Of those added, how many took the place of an entry with other content."""
    unchanged: int = 0
    """Of those added, how many were there just so."""


@dataclass(frozen=True, slots=True)
class Hit:
    """What the label of a vector stands for: a chunk or a picture of an entry."""

    number: int
    entry: Entry
    text: str
    """The chunk; empty for pictures."""
    perceptual_hash: int
    vector: Vector | None = None
    """Where the backend has no other way to a cosine."""


def entry_of(row: tuple[Any, ...], now: float) -> Entry:
    """The entry of a row of `ENTRY_COLUMNS`."""
    _, entry_id, title, caption, kind, text, attributes, source, language, text_format, told, expires, shown = row[:13]
    facts = json.loads(attributes) if attributes != "{}" else {}
    pictures = tuple(shown[start : start + 32] for start in range(0, len(shown), 32)) if shown else ()
    left = max(1, int(expires - now)) if expires else 0
    # By position, in the order of the fields: a search makes tens of these.
    return Entry(entry_id, title, caption, kind, text, facts, source, pictures, language, text_format, told, left)


def no_entry(entry_id: str) -> NotFound:
    """The error for an id that no entry has, in every store."""
    return NotFound(f"no entry {entry_id!r} in the knowledge store", entry=entry_id)
