"""What the knowledge store holds, how it is searched, and what a search gives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from quizglass.values import Entry, Filter, SearchMode


def first_picture(entry: Entry) -> bytes:
    """SHA-256 of the picture that stands for an entry; empty: it has none."""
    return next(iter(entry.picture_sha256), b"")


@dataclass(frozen=True, slots=True)
class PicturedEntry:
    """An entry on its way into the store, with its pictures as encoded bytes."""

    entry: Entry
    pictures: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a search may bring back and how results are put together."""

    filter: Filter = field(default_factory=Filter)
    mode: SearchMode = SearchMode.HYBRID
    per_entry: bool = False
    """Whether only the best chunk of each entry is brought back."""
    fold_alike: bool = False
    """Whether, of entries whose pictures are near-duplicates, only the best is brought back."""
    entries: tuple[str, ...] = ()
    """Ids of the only entries to search among; empty: all."""
    titles: tuple[str, ...] = ()
    """Titles, as they are written, of the only entries to search among; empty: all."""

    @property
    def key(self) -> Hashable:
        """What tells it from others."""
        wanted = self.filter
        attributes = tuple(sorted(wanted.attributes.items()))
        any_of = (tuple(wanted.kinds), tuple(wanted.sources), tuple(wanted.languages))
        return (
            self.mode,
            self.per_entry,
            self.fold_alike,
            self.entries,
            self.titles,
            attributes,
            *any_of,
            wanted.time_from,
            wanted.time_until,
        )


@dataclass(frozen=True, slots=True)
class EntryHit:
    """An entry found by picture."""

    entry: Entry
    score: float
    """Cosine."""
    perceptual_hash: int = 0
    """Hash of how the found picture looks; 0: not known."""


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk found by text."""

    entry: Entry
    text: str
    """The chunk, without its entry's title."""
    score: float
    """Cosine."""
