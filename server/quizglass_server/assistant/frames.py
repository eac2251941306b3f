"""Frames of requests: decoded once per content, remembered for a while by their hash."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from cachetools import LRUCache

from quizglass_server.decoding.decoder import PictureDecoder, digest
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidInput, NotFound
from quizglass_server.scheduling.memory import WorkMemory


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture as a client gives it: its bytes, or the name of bytes that it gave before."""

    encoded: bytes | None = None
    """JPEG, PNG or WebP."""
    sha256: bytes | None = None
    """Of the encoded bytes of an earlier frame."""


class FrameStore:
    """Decodes frames and keeps the most recent, bounded by bytes of pixels."""

    def __init__(self, decoder: PictureDecoder, work: WorkMemory, max_cached_bytes: int = 64 * 1024 * 1024) -> None:
        self._decoder = decoder
        self._work = work
        work.keepers.append(self._let_go)
        self._pictures: LRUCache[bytes, Picture] = LRUCache(max_cached_bytes, lambda picture: picture.pixels.nbytes)

    @asynccontextmanager
    async def received(self, size: int) -> AsyncGenerator[None, None]:
        """Count a message of `size` bytes for as long as it is held.

        Raises:
            Overloaded: there is no memory for it; it is to be sent again later.
        """
        async with self._work.admit(size):
            yield

    async def picture(self, frame: Frame, field: str) -> Picture:
        """The picture of a frame.

        Raises:
            InvalidPicture: the bytes are not a usable picture.
            InvalidInput: neither bytes nor hash, or a hash of the wrong length.
            NotFound: the hash is of a frame that is not held (any more).
        """
        if frame.encoded is not None:
            return await self.decode(frame.encoded, f"{field}.encoded")
        if frame.sha256 is not None:
            return self._held(frame.sha256, f"{field}.sha256")
        raise InvalidInput(field, "must have encoded bytes or the sha256 of an earlier frame")

    def is_slow(self, frame: Frame, field: str) -> bool:
        """Whether the frame's picture takes long to decode.

        Raises:
            InvalidPicture: its header shows that it is not a usable picture.
        """
        return frame.encoded is not None and self._decoder.is_slow(frame.encoded, f"{field}.encoded")

    async def decode(self, encoded: bytes, field: str) -> Picture:
        """Decode bytes, unless the same bytes were decoded a moment ago.

        Raises:
            InvalidPicture: the bytes are not a usable picture.
            BudgetExceeded, Overloaded: there is no time or no memory for it.
        """
        sha256 = await digest(encoded)
        picture = self._pictures.get(sha256)
        if picture is None:
            picture = await self._decoder.decode(encoded, field, sha256=sha256)
            with suppress(ValueError):  # larger than all that is kept
                self._pictures[sha256] = picture
        return picture

    def held(self, sha256: bytes) -> Picture | None:
        """The picture of an earlier frame; None when it is not held (any more)."""
        return self._pictures.get(sha256)

    def _held(self, sha256: bytes, field: str) -> Picture:
        if len(sha256) != 32:
            raise InvalidInput(field, f"{len(sha256)} bytes is not a SHA-256, which has 32")
        if (picture := self.held(sha256)) is None:
            raise NotFound(f"{field}: the frame is not held any more; send its bytes", field=field)
        return picture

    def _let_go(self, size: int) -> None:
        while self._pictures and size > 0:
            _, oldest = self._pictures.popitem()
            size -= oldest.pixels.nbytes
