"""What a source of knowledge is, for those that come with the server and for others' own.

A package adds a kind of source by an entry point of the group `quizglass.sources`, which names a function: it takes the
keys of the source's table, raises ValueError for a wrong one, and returns a `TextSource`, an `ImageSource` or both in
one object. It connects to nothing; the first search does. See docs/sources.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from quizglass_server.domain.turns import Picture, Vector

GROUP = "quizglass.sources"
"""The entry points' group."""


class SourceError(Exception):
    """A search failed. The message is logged and shown, so nothing of the query may be in it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One thing that a source found."""

    id: str
    """Names it within its source, always the same: a path, an address, a key."""
    title: str
    """What it is about."""
    text: str
    """A sentence to a few paragraphs, plain or HTML. Longer texts are cut."""
    address: str = ""
    """Where a person can read it: http://, https:// or a path. Empty: nowhere."""
    score: float | None = None
    """Of a picture's search, the cosine, -1 to 1; None: the source gives none. Not used of a text's search."""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What is searched for by text."""

    text: str
    """A question or a few words, in the wearer's language."""
    vector: Vector | None = None
    """The same as the bundle's text encoder embeds queries, for a source with `by_vector = True`; None: it has none."""


@dataclass(frozen=True, slots=True)
class PictureQuery:
    """What is searched for by picture."""

    picture: Picture
    vectors: Sequence[Vector]
    """Parts of it as the bundle's image encoder embeds them, likeliest first; at least one."""


@runtime_checkable
class KnowledgeSource(Protocol):
    """Anything that can be searched. Methods run on the event loop and must not block it."""

    @property
    def remote(self) -> bool:
        """Whether a search may leave this process's machine. LOCAL_ONLY keeps it shut then."""
        ...

    async def close(self) -> None:
        """Let go of connections, processes and files."""
        ...


@runtime_checkable
class TextSource(KnowledgeSource, Protocol):
    """Can be searched by text."""

    async def search_text(self, query: TextQuery, limit: int) -> Sequence[Passage]:
        """Up to `limit` passages, best first. May be cancelled, and may raise anything."""
        ...


@runtime_checkable
class ImageSource(KnowledgeSource, Protocol):
    """Can be searched by picture."""

    async def search_picture(self, query: PictureQuery, limit: int) -> Sequence[Passage]:
        """What up to `limit` pictures show, best first; `Passage.text` describes it. May raise anything."""
        ...
