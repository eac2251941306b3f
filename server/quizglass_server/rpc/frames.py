"""Frames of requests: decoded once per content, remembered for a while by their hash."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from quizglass.v1 import types_pb2
from quizglass_server.decoding.decoder import PictureDecoder, digest
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidInput, NotFound
from quizglass_server.scheduling.memory import WorkMemory


class FrameStore:
    """Decodes frames and keeps the most recent, bounded by bytes of pixels."""

    def __init__(self, decoder: PictureDecoder, work: WorkMemory, max_cached_bytes: int = 64 * 1024 * 1024) -> None:
        self._decoder = decoder
        self._work = work
        work.keepers.append(self._let_go)
        self._max_cached_bytes = max_cached_bytes
        self._cached_bytes = 0
        self._pictures: OrderedDict[bytes, Picture] = OrderedDict()

    @asynccontextmanager
    async def received(self, size: int) -> AsyncGenerator[None, None]:
        """Count a message of `size` bytes for as long as it is held.

        Raises:
            Overloaded: there is no memory for it; it is to be sent again later.
        """
        async with self._work.admit(size):
            yield

    async def picture(self, frame: types_pb2.Frame, field: str) -> Picture:
        """The picture of a frame.

        Raises:
            InvalidPicture: the bytes are not a usable picture.
            InvalidInput: neither bytes nor hash, or a hash of the wrong length.
            NotFound: the hash is of a frame that is not held (any more).
        """
        source = frame.WhichOneof("source")
        if source == "encoded":
            return await self.decode(frame.encoded, f"{field}.encoded")
        if source == "sha256":
            return self._held(frame.sha256, f"{field}.sha256")
        raise InvalidInput(field, "must have encoded bytes or the sha256 of an earlier frame")

    def is_slow(self, frame: types_pb2.Frame, field: str) -> bool:
        """Whether the frame's picture takes long to decode.

        Raises:
            InvalidPicture: its header shows that it is not a usable picture.
        """
        return frame.WhichOneof("source") == "encoded" and self._decoder.is_slow(frame.encoded, f"{field}.encoded")

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
        self._remember(picture)
        return picture

    def held(self, sha256: bytes) -> Picture | None:
        """The picture of an earlier frame; None when it is not held (any more)."""
        picture = self._pictures.get(sha256)
        if picture is not None:
            self._pictures.move_to_end(sha256)
        return picture

    def _held(self, sha256: bytes, field: str) -> Picture:
        if len(sha256) != 32:
            raise InvalidInput(field, f"{len(sha256)} bytes is not a SHA-256, which has 32")
        if (picture := self.held(sha256)) is None:
            raise NotFound(f"{field}: the frame is not held any more; send its bytes", field=field)
        return picture

    def _let_go(self, size: int) -> None:
        while self._pictures and size > 0:
            _, oldest = self._pictures.popitem(last=False)
            self._cached_bytes -= oldest.pixels.nbytes
            size -= oldest.pixels.nbytes

    def _remember(self, picture: Picture) -> None:
        if picture.sha256 in self._pictures:
            self._pictures.move_to_end(picture.sha256)
            return
        if picture.pixels.nbytes > self._max_cached_bytes:
            return
        self._pictures[picture.sha256] = picture
        self._cached_bytes += picture.pixels.nbytes
        while self._cached_bytes > self._max_cached_bytes:
            _, oldest = self._pictures.popitem(last=False)
            self._cached_bytes -= oldest.pixels.nbytes
