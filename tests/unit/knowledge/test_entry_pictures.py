"""Pictures of entries: read from the store, decoded, kept within bounds."""

from __future__ import annotations

import logging
from hashlib import sha256

import numpy as np
import pytest

from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidPicture, KnowledgeFailed, NotFound, NotSupported, Overloaded
from quizglass_server.knowledge import pictures as module
from quizglass_server.knowledge.pictures import EntryPictures


class Store:
    """Holds what `kept` has."""

    def __init__(self, *kept: bytes) -> None:
        self.kept = {sha256(each).digest(): each for each in kept}
        self.fails: Exception | None = None

    async def picture(self, digest: bytes) -> bytes:
        if self.fails is not None:
            raise self.fails
        if digest not in self.kept:
            raise NotFound("no picture of that hash")
        return self.kept[digest]


class Decoder:
    """Makes pictures of 10 x 10 pixels; fails at what says "bad"."""

    def __init__(self) -> None:
        self.decoded: list[bytes] = []

    async def __call__(self, encoded: bytes, field: str) -> Picture:
        self.decoded.append(encoded)
        if encoded == b"bad":
            raise InvalidPicture(field, "is damaged")
        if encoded == b"big":
            raise Overloaded("no memory", 1.0)
        return Picture(sha256(encoded).digest(), np.zeros((10, 10, 3), np.uint8))


def hashed(encoded: bytes) -> bytes:
    return sha256(encoded).digest()


async def test_a_picture_is_decoded_once_while_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 2 * 300)
    decoder = Decoder()
    shelf = EntryPictures(Store(b"a", b"b", b"c"), decoder)  # type: ignore[arg-type]
    for name in (b"a", b"a", b"b", b"c", b"a"):
        shown = await shelf.picture(hashed(name))
        assert shown is not None
        assert shown.sha256 == hashed(name)
    assert decoder.decoded == [b"a", b"b", b"c", b"a"]  # two fit
    shelf.let_go(200)  # the oldest
    for name in (b"a", b"c"):
        assert await shelf.picture(hashed(name)) is not None
    assert decoder.decoded[4:] == [b"c"]


async def test_what_is_not_there_or_cannot_be_decoded_is_none(caplog: pytest.LogCaptureFixture) -> None:
    store = Store(b"bad")
    shelf = EntryPictures(store, Decoder())  # type: ignore[arg-type]
    assert await shelf.picture(hashed(b"gone")) is None
    with caplog.at_level(logging.WARNING):
        assert await shelf.picture(hashed(b"bad")) is None
    assert "is damaged" in caplog.text
    store.fails = NotSupported("milvus", "Milvus keeps vectors, not pictures")
    assert await shelf.picture(hashed(b"bad")) is None


async def test_a_lack_of_memory_and_a_broken_store_are_told() -> None:
    store = Store(b"big")
    shelf = EntryPictures(store, Decoder())  # type: ignore[arg-type]
    with pytest.raises(Overloaded):
        await shelf.picture(hashed(b"big"))
    store.fails = KnowledgeFailed("it is damaged")
    with pytest.raises(KnowledgeFailed):
        await shelf.picture(hashed(b"big"))
