"""Frames of requests: decoded once per content, remembered for a while by their hash."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict

from quizglass.v1 import types_pb2
from quizglass_server.domain import Picture
from quizglass_server.errors import InvalidInput, NotFound
from quizglass_server.pictures import PictureLimits, decode_picture, is_quick


class FrameStore:
    """Decodes frames, all but small ones on worker threads, and keeps the most recent, bounded by bytes of pixels."""

    def __init__(self, limits: PictureLimits, max_cached_bytes: int = 64 * 1024 * 1024) -> None:
        self._limits = limits
        self._max_cached_bytes = max_cached_bytes
        self._cached_bytes = 0
        self._pictures: OrderedDict[bytes, Picture] = OrderedDict()

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

    async def decode(self, encoded: bytes, field: str) -> Picture:
        """Decode bytes, unless the same bytes were decoded a moment ago.

        Raises:
            InvalidPicture: the bytes are not a usable picture.
        """
        if is_quick(encoded):
            picture = self._held_or_decoded(encoded, field)
        else:
            picture = await asyncio.to_thread(self._held_or_decoded, encoded, field)
        self._remember(picture)
        return picture

    def _held_or_decoded(self, encoded: bytes, field: str) -> Picture:
        """On any thread: looks at what is held, and leaves changing it to the event loop."""
        sha256 = hashlib.sha256(encoded).digest()
        held = self._pictures.get(sha256)
        return decode_picture(encoded, self._limits, field, sha256=sha256) if held is None else held

    def _held(self, sha256: bytes, field: str) -> Picture:
        if len(sha256) != 32:
            raise InvalidInput(field, f"{len(sha256)} bytes is not a SHA-256, which has 32")
        picture = self._pictures.get(sha256)
        if picture is None:
            raise NotFound(f"{field}: the frame is not held any more; send its bytes", field=field)
        self._pictures.move_to_end(sha256)
        return picture

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
