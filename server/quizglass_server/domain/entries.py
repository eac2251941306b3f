"""What the knowledge store holds, how it is searched, and what a search gives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the knowledge store."""

    id: str
    title: str
    caption: str = ""
    kind: str = ""
    text: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    source: str = ""
    picture_sha256: tuple[bytes, ...] = ()
    language: str = ""
    """BCP 47; empty: not said."""
    text_format: str = ""
    """Of `text`: empty (plain), markdown or html."""
    time: int = 0
    """Seconds since 1970 of what it tells; 0: not said."""
    expires_after_s: int = 0
    """When given: seconds it is kept; when read: seconds left. 0: for ever."""

    @property
    def first_picture(self) -> bytes | None:
        """SHA-256 of its first picture, which stands for it; None: it has none."""
        return next(iter(self.picture_sha256), None)


@dataclass(frozen=True, slots=True)
class PicturedEntry:
    """An entry on its way into the store, with its pictures as encoded bytes."""

    entry: Entry
    pictures: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry that was not added."""

    index: int
    id: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a delete did; durable."""

    id: str
    sequence: int
    """Number of the commit: a compaction up to it has removed the bytes."""
    chunks: int
    pictures: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries a search may bring back; what is empty filters nothing. All of it has to fit."""

    attributes: dict[str, str] = field(default_factory=dict)
    """Exact values by key."""
    kinds: tuple[str, ...] = ()
    """Any of these."""
    sources: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    """BCP 47; "en" also takes "en-GB"."""
    time_from: int = 0
    """Seconds since 1970, inclusive."""
    time_until: int = 0
    """Exclusive."""


class SearchMode(Enum):
    """How texts are searched."""

    HYBRID = "hybrid"
    VECTORS = "vectors"
    KEYWORDS = "keywords"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search may bring back and how results are put together."""

    filter: Filter = field(default_factory=Filter)
    mode: SearchMode = SearchMode.HYBRID
    per_entry: bool = False
    """Of each entry only its best chunk."""
    fold_alike: bool = False
    """Of entries whose pictures are near-duplicates only the best."""

    @property
    def key(self) -> Hashable:
        """What tells it from others."""
        wanted = self.filter
        attributes = tuple(sorted(wanted.attributes.items()))
        filtered = (attributes, wanted.kinds, wanted.sources, wanted.languages, wanted.time_from, wanted.time_until)
        return (self.mode, self.per_entry, self.fold_alike, filtered)


@dataclass(frozen=True, slots=True)
class EntryHit:
    """An entry found by picture."""

    entry: Entry
    score: float
    """Cosine."""
    look: int = 0
    """Hash of how the found picture looks; 0: not known."""


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk found by text."""

    entry: Entry
    text: str
    """The chunk, without its entry's title."""
    score: float
    """Cosine."""
