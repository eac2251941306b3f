"""What a store has of an entry's content already: an import that brings it again has nothing to embed.

A vector depends on the model and on what it was made from alone: of a picture its bytes, of a chunk its text and the
entry's title. So vectors of the same space are taken over. Every row is compared with its checksum; one that is damaged
counts as missing, so that importing again still mends it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from quizglass.values import Entry
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge.content.records import EntryDraft, KnownContent, VectorKind, entry_of
from quizglass_server.knowledge.database.checksums import row_digest
from quizglass_server.knowledge.database.reader import ROWS, DatabaseReader
from quizglass_server.knowledge.database.schema import ENTRY_COLUMNS

_ENTRY = f"SELECT {ENTRY_COLUMNS}, digest FROM entries WHERE id = ?"  # noqa: S608  # our own names
_CHUNKS = f"{ROWS[VectorKind.CHUNKS]} WHERE entry = ? ORDER BY position"
_PICTURES = f"{ROWS[VectorKind.PICTURES]} WHERE entry = ? ORDER BY position"
_SAME_PICTURE = f"{ROWS[VectorKind.PICTURES]} INDEXED BY pictures_of_file WHERE sha256 = ? AND space = ? LIMIT 1"
_POSITION, _CONTENT, _SPACE, _VECTOR, _LAST = 2, 3, 4, 5, 6  # columns of both kinds
_MOST_TITLED = 4
"""Entries of the same title whose chunks are looked at, where there is none of the same id."""

Spaces = Mapping[VectorKind, str]


def known_content(reader: DatabaseReader, entry: Entry, titled: Iterable[int], spaces: Spaces) -> KnownContent:
    """What there is of an entry's chunks and pictures.

    Args:
        reader: of the store.
        entry: as it would be stored, with the hashes of its pictures.
        titled: numbers of entries of its title.
        spaces: of the vectors that can be used.

    Raises:
        KnowledgeFailed: the database cannot be read.
    """
    known = KnownContent()
    with reader.one_commit() as db:
        if (space := spaces.get(VectorKind.CHUNKS)) is not None:
            _note_chunks(db, reader.key, entry, titled, space, known)
        if (space := spaces.get(VectorKind.PICTURES)) is not None:
            for sha256 in entry.picture_sha256:
                for row in _sound(db.execute(_SAME_PICTURE, (sha256, space)), reader.key):
                    known.pictures[sha256] = _vector(row), row[_LAST]
    return known


def _note_chunks(
    db: sqlite3.Connection, key: bytes, entry: Entry, titled: Iterable[int], space: str, known: KnownContent
) -> None:
    own = next(_sound(db.execute(_ENTRY, (entry.id,)), key), None)
    same = entry_of(own[:-1], 0) if own is not None else None
    if own is None or same is None or same.title != entry.title:
        for number in islice(titled, _MOST_TITLED):
            _take_chunks(db, key, number, space, known)
        return
    texts = _take_chunks(db, key, own[0], space, known)
    if texts and _words(same) == _words(entry):
        known.chunks = texts


def _take_chunks(db: sqlite3.Connection, key: bytes, number: int, space: str, known: KnownContent) -> list[str]:
    """Take over the vectors of an entry's chunks; its chunks, in order, if all of them are there."""
    rows = [row for row in _sound(db.execute(_CHUNKS, (number,)), key) if row[_SPACE] == space]
    for row in rows:
        known.chunk_vectors[row[_CONTENT]] = _vector(row)
    whole = all((row[_POSITION], row[_LAST]) == (position, len(rows)) for position, row in enumerate(rows))
    return [row[_CONTENT] for row in rows] if whole else []


def is_as_stored(db: sqlite3.Connection, key: bytes, draft: EntryDraft, spaces: Spaces) -> bool:
    """Whether a draft is stored just so, with sound rows of these spaces and the bytes of its pictures.

    One that expires never is: its time begins anew.
    """
    row = next(_sound(db.execute(_ENTRY, (draft.entry.id,)), key), None)
    if row is None or row[11] or entry_of(row[:-1], 0) != draft.entry:
        return False
    chunks = _content(db.execute(_CHUNKS, (row[0],)), key, spaces.get(VectorKind.CHUNKS))
    pictures = _content(db.execute(_PICTURES, (row[0],)), key, spaces.get(VectorKind.PICTURES))
    if chunks != list(draft.chunks) or pictures != list(draft.entry.picture_sha256):
        return False
    selected = "SELECT encoded FROM picture_files WHERE sha256 = ?"
    stored = [db.execute(selected, (sha256,)).fetchone() for sha256 in draft.entry.picture_sha256]
    return stored == [(encoded,) for encoded in draft.pictures]


def _content(rows: Iterable[tuple[Any, ...]], key: bytes, space: str | None) -> list[Any]:
    """Texts or hashes of an entry's rows; those that are damaged or of another space are left out."""
    return [row[_CONTENT] for row in _sound(rows, key) if row[_SPACE] == space]


def _words(entry: Entry) -> Entry:
    """All that chunks are cut from."""
    return replace(entry, id="", kind="", source="", picture_sha256=(), language="", time=0, expires_after=0)


def _sound(rows: Iterable[tuple[Any, ...]], key: bytes) -> Iterator[tuple[Any, ...]]:
    """Those that are as they were written."""
    return (row for row in rows if row_digest(row[:-1], key) == row[-1])


def _vector(row: tuple[Any, ...]) -> Vector:
    return np.frombuffer(row[_VECTOR], dtype="<f4").astype(np.float32)
