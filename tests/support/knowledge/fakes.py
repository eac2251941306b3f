"""Encoders and pictures for tests of the knowledge store: small, deterministic, no model."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Sequence

import numpy as np

from quizglass.values import Entry
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.errors import InvalidPicture
from quizglass_server.knowledge import IndexOptions, KnowledgeBase

DIMENSION = 16
GRAPHS_EARLY = IndexOptions(graph_from=40, tail=16)
"""Makes small stores use graphs, merges and rebuilds."""


def hashed(content: bytes, dimension: int = DIMENSION) -> Vector:
    """A unit vector that depends on the content alone."""
    seed = int.from_bytes(hashlib.sha256(content).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


class FakeTextEncoder:
    """Texts at random places; a query lies where the passage of the same words does. A token is a word."""

    def __init__(self, fingerprint: str = "text-1", dimension: int = DIMENSION) -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.batches: list[int] = []

    async def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        return [hashed(f"{self.fingerprint} {text}".encode(), self.dimension) for text in texts]

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.batches.append(len(texts))
        await asyncio.sleep(0)
        return await self.embed_queries(texts)

    def count_tokens(self, text: str) -> int:
        return len(text.split())


class FakeImageEncoder:
    """Pictures at random places, by their pixels."""

    def __init__(self, fingerprint: str = "image-1", dimension: int = DIMENSION) -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.batches: list[int] = []

    async def embed(self, pictures: Sequence[Picture]) -> list[Vector]:
        self.batches.append(len(pictures))
        await asyncio.sleep(0)
        return [hashed(self.fingerprint.encode() + picture.pixels.tobytes(), self.dimension) for picture in pictures]


def fake_decode(encoded: bytes, field: str) -> Picture:
    """Encoded bytes are their own pixels; those that start with "bad" cannot be decoded."""
    if not encoded or encoded.startswith(b"bad"):
        raise InvalidPicture(field, "is not a picture")
    pixels = np.frombuffer(hashlib.sha256(encoded).digest()[:30], np.uint8).reshape(2, 5, 3)
    return Picture(hashlib.sha256(encoded).digest(), pixels)


async def fake_decoding(encoded: bytes, field: str) -> Picture:
    """The same, as a knowledge store decodes."""
    return fake_decode(encoded, field)


async def stream(entries: Iterable[PicturedEntry]) -> AsyncIterator[PicturedEntry]:
    """The entries as a client would send them."""
    for entry in entries:
        yield entry


def pictured(
    entry_id: str, *, text: str = "", title: str = "", pictures: Sequence[bytes] = (), **more: object
) -> PicturedEntry:
    """An entry to add; its title is its id unless given."""
    return PicturedEntry(Entry(id=entry_id, title=title or entry_id, text=text, **more), pictures)  # type: ignore[arg-type]


async def query_text(words: str, fingerprint: str = "text-1") -> Vector:
    """The query that lies exactly on the passage of these words ("<title>: <chunk>")."""
    return (await FakeTextEncoder(fingerprint).embed_queries([words]))[0]


async def query_picture(encoded: bytes, fingerprint: str = "image-1") -> Vector:
    """The query that lies exactly on this picture."""
    return (await FakeImageEncoder(fingerprint).embed([fake_decode(encoded, "")]))[0]


async def open_base(directory, **overrides) -> KnowledgeBase:
    """A knowledge base with fake encoders, unless told otherwise."""
    arguments = {"text_encoder": FakeTextEncoder(), "image_encoder": FakeImageEncoder(), "decode": fake_decoding}
    return await KnowledgeBase.open(directory, **{**arguments, **overrides})
