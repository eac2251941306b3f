"""Frames of requests: bytes, or the hash of a frame that came over the same connection a moment ago."""

from __future__ import annotations

from quizglass.v1 import types_pb2
from quizglass_server.decoding.decoder import PictureDecoder
from quizglass_server.decoding.filtering import FrameFilter
from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.domain import checks
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidInput, NotFound
from quizglass_server.scheduling.memory import WorkMemory
from quizglass_server.scheduling.shared_cache import SharedCache

_MOST_NAMES = 16_384


class FrameStore(PictureCache):
    """Decodes frames and keeps the most recent of each address, bounded by bytes of pixels.

    A hash is as good as its bytes only for the connection that brought those: who knows or guesses the hash of
    another's picture learns nothing from it.
    """

    def __init__(
        self,
        decoder: PictureDecoder,
        work: WorkMemory,
        max_cached_bytes: int = 64 * 1024 * 1024,
        frame_filter: FrameFilter | None = None,
    ) -> None:
        super().__init__(decoder, work, max_cached_bytes, frame_filter)
        self._names: SharedCache[tuple[str, bytes], bool] = SharedCache(_MOST_NAMES, lambda _: 1)

    async def picture(self, frame: types_pb2.Frame, field: str, peer: str) -> Picture:
        """The picture of a frame.

        Args:
            frame: bytes or hash.
            field: its path in the request, for errors.
            peer: the connection that it came over.

        Raises:
            InvalidPicture: the bytes are not a usable picture.
            InvalidInput: neither bytes nor hash, or a hash of the wrong length.
            NotFound: the hash is of no frame of this connection, or of one that is not held any more.
        """
        source = frame.WhichOneof("source")
        if source == "encoded":
            picture = await self.decode(frame.encoded, f"{field}.encoded")
            self._names.put((peer, picture.sha256), True)
            return picture
        if source == "sha256":
            return self._named(frame.sha256, f"{field}.sha256", peer)
        raise InvalidInput(field, "must have encoded bytes or the sha256 of an earlier frame")

    def is_slow_frame(self, frame: types_pb2.Frame, field: str) -> bool:
        """Whether the frame's picture takes long to decode.

        Raises:
            InvalidPicture: its header shows that it is not a usable picture.
        """
        return frame.WhichOneof("source") == "encoded" and self.is_slow(frame.encoded, f"{field}.encoded")

    def _named(self, sha256: bytes, field: str, peer: str) -> Picture:
        checks.sha256(sha256, field)
        picture = self.held(sha256) if self._names.get((peer, sha256)) else None
        if picture is None:
            raise NotFound(f"{field}: the frame is not held for this connection; send its bytes", field=field)
        return picture
