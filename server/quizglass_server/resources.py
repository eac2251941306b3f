"""What every turn shares: models, knowledge, tuning, usual costs and caches by content hash."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from quizglass_server.domain import Vector
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.models.faces import Generator, ImageEncoder, Planner, Reader, Reranker, TextEncoder
from quizglass_server.scheduling.costs import StepCosts
from quizglass_server.steps.crop import View
from quizglass_server.steps.image_search import PictureIndex
from quizglass_server.steps.text_search import TextIndex
from quizglass_server.steps.tuning import Tuning

_CACHED_VECTORS, _CACHED_WORDS = 4096, 1024


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


@dataclass(frozen=True, slots=True)
class Resources:
    """What every turn shares."""

    models: ModelSet
    knowledge: Knowledge
    tuning: Tuning = field(default_factory=Tuning)
    costs: StepCosts = field(default_factory=StepCosts)
    vectors: BoundedCache[tuple[bytes, View], Vector] = field(default_factory=lambda: BoundedCache(_CACHED_VECTORS))
    """By picture's SHA-256 and view: 128 to 1,024 floats each."""
    words: BoundedCache[bytes, str] = field(default_factory=lambda: BoundedCache(_CACHED_WORDS))
    """By picture's SHA-256."""
