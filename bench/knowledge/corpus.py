"""Entries and encoders that need no model: everything follows from numbers, so that any process knows the answers."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import numpy as np

from quizglass.values import Entry
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.knowledge import IndexOptions, KnowledgeBase

DIMENSION = 16
KINDS = ("car", "bird", "book")
GRAPHS_EARLY = IndexOptions(graph_from=40, tail=16)
"""Makes small stores use graphs, merges and rebuilds."""


def placed(content: bytes, dimension: int = DIMENSION) -> Vector:
    """A unit vector that depends on the content alone."""
    seed = int.from_bytes(hashlib.sha256(content).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


class TextPlaces:
    """A text encoder: a query lies where the passage of the same words does. A token is a word."""

    fingerprint = "places-1"

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.dimension = dimension

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Queries."""
        return [placed(text.encode(), self.dimension) for text in texts]

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Passages."""
        return await self.embed_queries(texts)

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())


class PicturePlaces:
    """An image encoder: by the pixels."""

    fingerprint = "places-1"

    def __init__(self, dimension: int = DIMENSION) -> None:
        self.dimension = dimension

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        """Pictures."""
        return [placed(picture.pixels.tobytes(), self.dimension) for picture in pictures]


def decode(encoded: bytes, _field: str) -> Picture:
    """Encoded bytes stand for pixels of their own."""
    digest = hashlib.sha256(encoded).digest()
    return Picture(digest, np.frombuffer(digest[:30], np.uint8).reshape(2, 5, 3))


def entry(number: int, store: str = "") -> PicturedEntry:
    """The entry that every run gives this number; `store` makes those of another store different."""
    text = f"Article {number} of {store or 'the'} store.\n\nIt tells about thing{number} and nothing else, in words."
    made = Entry(
        f"{store}e{number}",
        f"Thing {number}",
        caption=f"A thing of number {number}.",
        kind=KINDS[number % len(KINDS)],
        text=text,
        attributes={"price": f"{number * 7} crowns", "year": str(1900 + number)},
        source="corpus",
    )
    return PicturedEntry(made, [f"{store}picture {number}".encode()])


async def entries(numbers: Iterable[int], store: str = "") -> AsyncIterator[PicturedEntry]:
    """Those entries, as a client would send them."""
    for number in numbers:
        yield entry(number, store)


async def _decoded(encoded: bytes, field: str) -> Picture:
    return decode(encoded, field)


async def opened(directory: Path, options: IndexOptions = GRAPHS_EARLY) -> KnowledgeBase:
    """The knowledge base of a directory, with these encoders."""
    return await KnowledgeBase.open(
        directory, text_encoder=TextPlaces(), image_encoder=PicturePlaces(), decode=_decoded, options=options
    )


def query_text(words: str) -> Vector:
    """The query that lies on the passage of these words."""
    return placed(words.encode())


def query_picture(encoded: bytes) -> Vector:
    """The query that lies on this picture."""
    return placed(decode(encoded, "").pixels.tobytes())
