"""What every turn shares: models, knowledge, tuning, usual costs and caches by content hash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from quizglass.values import Region
from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.entries import EntryHit, SearchOptions
from quizglass_server.domain.sightings import Seen, SightingHit, SightingQuery
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.knowledge.sources.guarded import KnowledgeSources
from quizglass_server.roles.table import Models
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.steps.lookup.entry_pictures import PictureSource
from quizglass_server.steps.lookup.image_search import PictureIndex
from quizglass_server.steps.lookup.parts.crop import Part
from quizglass_server.steps.lookup.recall import SightingIndex
from quizglass_server.steps.lookup.spatial import KeypointSource
from quizglass_server.steps.lookup.text_search import TextIndex

_ANY = SearchOptions()
_CACHED_VECTORS, _CACHED_WORDS, _CACHED_TAGS = 4096, 1024, 1024  # a vector is 128 to 1,024 floats

Embed = Callable[[Sequence[Part]], Awaitable[Sequence[Vector] | None]]
Kept = TypeVar("Kept")


class Knowledge(PictureIndex, TextIndex, Protocol):
    """A store that can be searched."""

    async def search_crops(
        self, vectors: Sequence[Vector], limit: int, finding: SearchOptions = _ANY
    ) -> list[EntryHit]:
        """Entries by their best picture for any of several views of one thing, best first."""
        ...

    def count(self) -> int:
        """Number of entries."""
        ...


class VisualMemory(SightingIndex, Protocol):
    """What takes sightings in and finds them."""

    def remember(self, seen: Seen) -> None:
        """Take a sighting in, at once and without failing."""
        ...

    async def latest(self, query: SightingQuery) -> list[SightingHit]:
        """The latest sightings, latest first."""
        ...


@dataclass(frozen=True, slots=True)
class WordsRead:
    """Printed words of a picture."""

    lines: tuple[str, ...]
    """In reading order; none: there are no words."""
    whole: bool
    """Whether all of the picture was searched for them, and not only where a gate finds that there may be some."""

    @property
    def text(self) -> str:
        """All of them in one line; empty: there are none."""
        return " ".join(self.lines)


@dataclass(frozen=True, slots=True)
class Resources:
    """What every turn shares."""

    models: Models
    knowledge: Knowledge
    tuning: Tuning = field(default_factory=Tuning)
    memory: VisualMemory | None = None
    """None: the server remembers nothing."""
    pictures: PictureSource | None = None
    """Pictures of entries. None: prompts show the wearer's picture alone."""
    keypoints: KeypointSource | None = None
    """Keypoints of these and of the wearer's. None: pictures are compared by vectors alone."""
    sources: KnowledgeSources = field(default_factory=KnowledgeSources)
    """What is asked beside the store."""
    costs: StepCosts = field(default_factory=StepCosts)
    words: BoundedCache[bytes, WordsRead] = field(default_factory=lambda: BoundedCache(_CACHED_WORDS, name="words"))
    """Printed words, by picture's SHA-256."""
    text_regions: BoundedCache[bytes, list[Region]] = field(default_factory=lambda: BoundedCache(_CACHED_WORDS))
    """Parts where the word gate finds that there may be words, by picture's SHA-256; mostly none."""
    tags: BoundedCache[bytes, tuple[str, ...]] = field(default_factory=lambda: BoundedCache(_CACHED_TAGS))
    """What pictures are likely to show, by picture's SHA-256."""
    _vectors: BoundedCache[tuple[bytes, Part], Vector] = field(
        default_factory=lambda: BoundedCache(_CACHED_VECTORS, name="vectors")
    )

    def filling(self, role: str) -> Any | None:
        """What fills a role of the bundle, "knowledge", "memory", "pictures" or "keypoints"; None when nothing does."""
        if role in ("knowledge", "memory", "pictures", "keypoints"):
            return getattr(self, role)
        return self.models.get(role)

    async def vectors(self, picture: Picture, views: Sequence[Part], embed: Embed) -> list[Vector]:
        """One vector a view, each made once for the same picture.

        Args:
            picture: what the views are of.
            views: which parts, each once.
            embed: makes the vectors of those views that are not kept from before, in one batch; None: it did not.

        Returns:
            The vectors in the order of the views; none when `embed` made none.
        """
        kept = {view: self._vectors.get((picture.key, view)) for view in views}
        missing = [view for view, vector in kept.items() if vector is None]
        if missing:
            vectors = await embed(missing)
            if vectors is None:
                return []
            for view, vector in zip(missing, vectors, strict=True):
                kept[view] = vector
                self._vectors.put((picture.key, view), vector)
        return [vector for vector in kept.values() if vector is not None]


async def once(
    cache: BoundedCache[bytes, Kept], picture: Picture, find: Callable[[Picture], Awaitable[Kept | None]]
) -> Kept | None:
    """What is kept of a picture, or else found out and kept; None where `find` found nothing out, which is not kept."""
    found = cache.get(picture.key)
    if found is None and (found := await find(picture)) is not None:
        cache.put(picture.key, found)
    return found
