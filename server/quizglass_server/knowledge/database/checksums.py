"""Checksums of the database: SQLite keeps none, so a flipped bit in its file would be read back as if it were data.

Every row carries a digest of its contents, compared at every read. The sums of these digests, of the ids and of the
labels are kept in one more row (`StoreState`), so that rows which are missing, doubled or moved are seen too: a sum
modulo 2^64 of digests does not depend on their order and is brought up to date by adding and subtracting.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b

import numpy as np

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import Labels, VectorKind

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def row_digest(columns: Sequence[object], key: bytes = b"") -> int:
    """64 bits of BLAKE2b over columns with their types and lengths, as SQLite stores integers: with a sign.

    The key is the store's own, so that rows of another store are not taken for sound.
    """
    hashed = blake2b(digest_size=8, key=key)
    for column in columns:
        if isinstance(column, str):
            encoded = column.encode("utf-8", "surrogatepass")
            hashed.update(b"s%d," % len(encoded))
            hashed.update(encoded)
        elif isinstance(column, bytes):
            hashed.update(b"b%d," % len(column))
            hashed.update(column)
        else:  # also of a type that only a damaged file holds
            hashed.update(repr(column).encode())
    return int.from_bytes(hashed.digest(), "little", signed=True)


def id_digest(number: int, entry_id: str) -> int:
    """Digest of the pair of an entry's number and its id, as the index of ids holds it."""
    content = b"%d %s" % (number, entry_id.encode("utf-8", "surrogatepass"))
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little", signed=True)


def picture_digest(sha256: bytes) -> int:
    """Digest of a stored picture: the first 64 bits of the SHA-256 that is its key."""
    return int.from_bytes(sha256[:8], "little", signed=True)


def label_digest(label: int, entry: int) -> int:
    """Digest of a label and the number of its entry (SplitMix64; Steele, Lea and Flood, OOPSLA 2014)."""
    return signed(_mix((label * _GOLDEN + _mix(entry)) & _WORD))


def labels_sum(labels: Labels, entries: Labels) -> int:
    """Sum of `label_digest` over many, modulo 2^64."""
    with np.errstate(over="ignore"):
        mixed = _mixed(labels.astype(np.uint64) * np.uint64(_GOLDEN) + _mixed(entries.astype(np.uint64)))
        return signed(int(mixed.sum(dtype=np.uint64)))


def signed(value: int) -> int:
    """The value modulo 2^64, as SQLite stores integers."""
    value &= _WORD
    return value - (1 << 64) if value >> 63 else value


def _mix(value: int) -> int:
    value = (value + _GOLDEN) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)


def _mixed(
    values: np.ndarray[tuple[int, ...], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    values = values + np.uint64(_GOLDEN)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@dataclass(slots=True)
class StoreState:
    """What the database says about itself; one row, written with every commit."""

    store: str
    """Random name of the store: its files are not mixed up with another's."""
    sequence: int = 0
    """Number of commits that changed entries, ever."""
    clock: int = 0
    """Seconds since 1970, as of the last commit; never goes back (`clock.py`)."""
    count: int = 0
    """Entries."""
    last: dict[str, int] = field(default_factory=dict)
    """Highest number ever given to a row of each table: none is used again, even after it was deleted."""
    sums: dict[str, int] = field(default_factory=dict)
    """Of the digests of every table's rows, and of ids and labels; a name that is missing stands for 0."""

    def add(self, name: str, digest: int) -> None:
        """Count a row in."""
        total = self.sums[name] = signed(self.sums.get(name, 0) + digest)
        if not total:
            del self.sums[name]

    def remove(self, name: str, digest: int) -> None:
        """Count a row out."""
        self.add(name, -digest)

    def next(self, table: str) -> int:
        """The number of the next row of a table."""
        self.last[table] = self.last.get(table, 0) + 1
        return self.last[table]

    def copy(self) -> StoreState:
        """A copy that changes on its own."""
        return StoreState(self.store, self.sequence, self.clock, self.count, dict(self.last), dict(self.sums))

    def save(self, connection: sqlite3.Connection) -> int:
        """Write the row in the transaction that changed it; returns its digest."""
        body = json.dumps(asdict(self), sort_keys=True)
        digest = row_digest([body])
        connection.execute("INSERT OR REPLACE INTO state (one, body, digest) VALUES (1, ?, ?)", (body, digest))
        return digest

    @property
    def key(self) -> bytes:
        """Key of the digests of this store's rows, made of its name."""
        return bytes.fromhex(self.store)

    @classmethod
    def load(cls, connection: sqlite3.Connection, file: str) -> StoreState:
        """Read the row. Raises KnowledgeFailed when it is not as it was written, and sqlite3.Error."""
        row = connection.execute("SELECT body, digest FROM state WHERE one = 1").fetchone()
        if row is None or not isinstance(row[0], str) or row_digest(row[:1]) != row[1]:
            raise damaged(file, "its own state")
        return cls(**json.loads(row[0]))


def labels_of(kind: VectorKind, space: str) -> str:
    """Name of the sum of a kind's labels of one space."""
    return f"{kind.value} labels {space}"


def damaged(file: str, what: str) -> KnowledgeFailed:
    """The error of a row that is not as it was written."""
    return KnowledgeFailed(
        f"{file}: {what} is damaged; stop the server and run `quizglass knowledge repair` on its directory, "
        "or restore a snapshot",
        file=file,
    )
