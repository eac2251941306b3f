"""What every turn shares: models, knowledge, tuning, usual costs and caches by content hash."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from quizglass_server.domain import Vector
from quizglass_server.models.faces import Generator, ImageEncoder, Planner, Reader, Reranker, TextEncoder
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.steps.image_search import PictureIndex
from quizglass_server.steps.text_search import TextIndex
from quizglass_server.steps.tuning import Tuning

_Value = TypeVar("_Value")


class ModelSet(Protocol):
    """The models of a bundle; None for a role it does not fill."""

    @property
    def planner(self) -> Planner | None:
        """Decides plans."""
        ...

    @property
    def reranker(self) -> Reranker | None:
        """Orders passages."""
        ...

    @property
    def image_encoder(self) -> ImageEncoder | None:
        """Embeds pictures."""
        ...

    @property
    def text_encoder(self) -> TextEncoder | None:
        """Embeds texts."""
        ...

    @property
    def generator(self) -> Generator | None:
        """Writes answers."""
        ...

    @property
    def reader(self) -> Reader | None:
        """Reads printed words."""
        ...


class Knowledge(PictureIndex, TextIndex, Protocol):
    """A store that can be searched."""

    def count(self) -> int:
        """Number of entries."""
        ...


class ContentCache(Generic[_Value]):
    """Keeps the most recently used results, by content hash and whatever else decides them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[Hashable, _Value] = OrderedDict()

    def get(self, key: Hashable) -> _Value | None:
        """The result, if it is still held."""
        if key in self._items:
            self._items.move_to_end(key)
            return self._items[key]
        return None

    def put(self, key: Hashable, value: _Value) -> None:
        """Keep a result; the least recently used one makes room."""
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._size:
            self._items.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Resources:
    """What every turn shares."""

    models: ModelSet
    knowledge: Knowledge
    tuning: Tuning = field(default_factory=Tuning)
    costs: StepCosts = field(default_factory=StepCosts)
    vectors: ContentCache[Vector] = field(default_factory=lambda: ContentCache(1024))
    """By (picture's SHA-256, view): 128 to 1,024 floats each."""
    words: ContentCache[str] = field(default_factory=lambda: ContentCache(1024))
    """By picture's SHA-256."""
