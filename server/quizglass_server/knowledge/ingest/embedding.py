"""Embeds what entries consist of, a batch at a time and across entries, and checks what the encoders return."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from quizglass.values import SearchMode
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.errors import EngineFailed, needed
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.scheduling.priority import Priority, at_priority

_BATCH = 32
_PICTURE_BYTES = 64 << 20  # decoded pictures that wait for their batch

NO_VECTOR: Vector = np.empty(0, np.float32)
"""Stands where one will be, or where there is none."""

Item = TypeVar("Item")
Deliver = Callable[[Vector], None]


def unit_vector(vector: Vector, dimension: int, role: str) -> Vector:
    """The vector as float32 of length 1. Raises EngineFailed when it is not a vector of this dimension."""
    vector = np.asarray(vector, dtype=np.float32)
    if vector.shape != (dimension,):
        raise EngineFailed(f"the {role} gave a vector of shape {vector.shape}, {dimension} numbers were expected")
    exact = vector.astype(np.float64)
    norm = math.sqrt(exact @ exact)
    if not math.isfinite(norm) or norm == 0.0:
        raise EngineFailed(f"the {role} gave a vector without direction (its length is {norm})")
    unit: Vector = (exact / norm).astype(np.float32)
    return unit


def picture_queries(encoder: ImageEncoder | None, vectors: Sequence[Vector]) -> list[Vector]:
    """The vectors of a search by picture, as unit vectors. Raises RoleMissing without an encoder, EngineFailed."""
    dimension = needed(encoder, "image_encoder", "searching by picture").dimension
    return [unit_vector(vector, dimension, "image_encoder") for vector in vectors]


def text_query(encoder: TextEncoder | None, vector: Vector | None, mode: SearchMode) -> Vector | None:
    """The vector of a search by text, as a unit vector; None when keywords alone are asked for.

    Raises:
        RoleMissing: a vector is needed and there is no encoder.
        EngineFailed: it is not a vector of the encoder.
    """
    if mode is SearchMode.KEYWORDS:
        return None
    dimension = needed(encoder, "text_encoder", "searching by text").dimension
    return unit_vector(NO_VECTOR if vector is None else vector, dimension, "text_encoder")


class Embedder(Generic[Item]):
    """Collects items and embeds them `_BATCH` at a time, or sooner when they hold much memory.

    Vectors are delivered in the order in which the items came.
    """

    def __init__(
        self,
        role: str,
        dimension: int,
        embed: Callable[[Sequence[Item]], Awaitable[Sequence[Vector]]],
        size: Callable[[Item], int] = lambda _: 0,
    ) -> None:
        """Embed with `embed`; `size` is the memory of an item in bytes."""
        self._role = role
        self._dimension = dimension
        self._embed = embed
        self._size = size
        self._waiting: list[tuple[Item, Deliver]] = []
        self._bytes = 0

    async def put(self, item: Item, deliver: Deliver) -> None:
        """Embed an item, now or with later ones."""
        self._waiting.append((item, deliver))
        self._bytes += self._size(item)
        if len(self._waiting) >= _BATCH or self._bytes >= _PICTURE_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Embed what waits. Raises EngineFailed, and whatever the encoder raises."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if not waiting:
            return
        with at_priority(Priority.BACKGROUND):
            vectors = await self._embed([item for item, _ in waiting])
        if len(vectors) != len(waiting):
            raise EngineFailed(f"the {self._role} gave {len(vectors)} vectors for {len(waiting)} inputs")
        for (_, deliver), vector in zip(waiting, vectors, strict=True):
            deliver(unit_vector(vector, self._dimension, self._role))


class Embedders:
    """The embedders of one import. Asking for one whose role the bundle lacks raises RoleMissing."""

    def __init__(self, text_encoder: TextEncoder | None, image_encoder: ImageEncoder | None) -> None:
        """Nothing waits yet."""
        self._passages: Embedder[str] | None = None
        self._pictures: Embedder[Picture] | None = None
        if text_encoder is not None:
            self._passages = Embedder("text_encoder", text_encoder.dimension, text_encoder.embed_passages)
        if image_encoder is not None:
            dimension, embed = image_encoder.dimension, image_encoder.embed
            self._pictures = Embedder("image_encoder", dimension, embed, lambda picture: int(picture.pixels.nbytes))

    @property
    def passages(self) -> Embedder[str]:
        """The embedder of passages, each the text "<title>: <chunk>"."""
        return needed(self._passages, "text_encoder", "adding entries with text")

    @property
    def pictures(self) -> Embedder[Picture]:
        """The embedder of decoded pictures."""
        return needed(self._pictures, "image_encoder", "adding entries with pictures")

    async def flush(self) -> None:
        """Embed what waits."""
        for embedder in (self._passages, self._pictures):
            if embedder is not None:
                await embedder.flush()
