"""Pictures of requests: decoded once per address and content, remembered for a while by their hash."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

from quizglass_server.decoding.decoder import PictureDecoder, digest
from quizglass_server.decoding.filtering import FrameFilter
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import BudgetExceeded, InvalidPicture, QuizglassError
from quizglass_server.observe import caches, metrics
from quizglass_server.scheduling.clients import current_client
from quizglass_server.scheduling.deadline import deadline
from quizglass_server.scheduling.ledger import handed
from quizglass_server.scheduling.memory import Reservation, WorkMemory
from quizglass_server.scheduling.shared_cache import SharedCache

logger = logging.getLogger(__name__)

_Key = tuple[str, bytes]
"""Owner (`Client.owner`), and SHA-256 of the encoded bytes."""


@dataclass(eq=False, slots=True)
class _Decoding:
    """A picture that is being decoded, for all of its address that wait for it."""

    key: _Key
    waiting: int = 0
    task: asyncio.Task[Picture] = field(init=False)


class PictureCache:
    """Decodes pictures and keeps the most recent of each address, bounded by bytes of pixels.

    A picture is its address's: another one that sends the same bytes has them decoded anew, and learns nothing from it.
    Who may name a picture by its hash, instead of giving its bytes, is for its callers to know.
    """

    def __init__(
        self,
        decoder: PictureDecoder,
        work: WorkMemory,
        max_cached_bytes: int = 64 * 1024 * 1024,
        frame_filter: FrameFilter | None = None,
    ) -> None:
        self._decoder = decoder
        self._filter = frame_filter
        self._work = work
        work.keepers.append(self._let_go)
        self._pictures: SharedCache[_Key, Picture] = SharedCache(
            max_cached_bytes, lambda picture: picture.pixels.nbytes
        )
        caches.count("pictures", self)
        self._decodings: dict[_Key, _Decoding] = {}

    @property
    def held_bytes(self) -> int:
        """Bytes of the pixels that are kept."""
        return self._pictures.held

    def received(self, size: int) -> AbstractAsyncContextManager[Reservation]:
        """Count a message of `size` bytes, which has come, for as long as it is held.

        Raises:
            Overloaded: there is no memory for it; it is to be sent again later.
        """
        return self._work.admit(size, held=True)

    def is_slow(self, encoded: bytes, field: str) -> bool:
        """Whether a picture takes long to decode.

        Raises:
            InvalidPicture: its header shows that it is not a usable picture.
        """
        return self._decoder.is_slow(encoded, field)

    async def decode(self, encoded: bytes, field: str, *, sha256: bytes | None = None) -> Picture:
        """Decode bytes, unless the same bytes were decoded a moment ago, or are being decoded.

        Args:
            encoded: the file's bytes.
            field: path of the field in the request, for the error.
            sha256: of the bytes, where it is known already.

        Raises:
            InvalidPicture: the bytes are not a usable picture.
            BudgetExceeded, Overloaded: there is no time or no memory for it.
            FilterFailed: it could not be filtered.
        """
        key = _key(sha256 or await digest(encoded))
        picture = self._pictures.get(key)
        metrics.CACHE.add("pictures", "miss" if picture is None else "hit")
        if picture is not None:
            return picture
        while (begun := self._decodings.get(key)) is not None:
            try:
                async with asyncio.timeout(_left_s()):
                    return await self._result(begun)
            except TimeoutError:
                raise BudgetExceeded("the time ran out before the picture was decoded") from None
            except InvalidPicture as error:
                raise InvalidPicture(field, error.description) from None
            except QuizglassError as error:  # whoever began it had less time, or there was no memory then
                logger.debug("a picture is decoded again: %s", error.message)
        begun = self._decodings[key] = _Decoding(key)
        begun.task = asyncio.create_task(self._decode(encoded, field, begun), name="decode for whoever waits")
        return await self._result(begun)

    async def _result(self, decoding: _Decoding) -> Picture:
        """A shared decoding; it is cancelled when its last waiter leaves."""
        decoding.waiting += 1
        try:
            return await asyncio.shield(decoding.task)
        finally:
            decoding.waiting -= 1
            if not decoding.waiting:
                decoding.task.cancel()
                self._over(decoding)

    async def _decode(self, encoded: bytes, field: str, this: _Decoding) -> Picture:
        try:
            handed("decoder", len(encoded))
            owner, sha256 = this.key
            picture = await self._decoder.decode(encoded, field, sha256=sha256)
            if self._filter is not None:
                handed("frame_filter", picture.pixels.nbytes)
                picture = await self._filter.apply(picture, field)
            picture = replace(picture, owner=owner)
            if self._decodings.get(this.key) is this:  # else it has been forgotten
                self._pictures.put(this.key, picture)
            return picture
        finally:
            self._over(this)

    def _over(self, decoding: _Decoding) -> None:
        if self._decodings.get(decoding.key) is decoding:
            del self._decodings[decoding.key]

    def held(self, sha256: bytes) -> Picture | None:
        """The picture of an earlier frame of the same address; None when it is not held (any more)."""
        return self._pictures.get(_key(sha256))

    def forget(self, sha256: bytes) -> bool:
        """Let the picture of a frame of the same address go, also one that is being decoded; whether it was held."""
        self._decodings.pop(_key(sha256), None)
        return self._pictures.pop(_key(sha256)) is not None

    def pop_oldest(self) -> None:
        """Evict the least recently used picture, if there is one."""
        self._pictures.pop_oldest()

    def _let_go(self, size: int) -> None:
        while size > 0 and (oldest := self._pictures.pop_oldest()) is not None:
            size -= oldest.pixels.nbytes


def _key(sha256: bytes) -> _Key:
    return current_client().owner, sha256


def _left_s() -> float | None:
    """Seconds in which the current work is due."""
    due = deadline()
    return None if due is None else max(0.0, due - time.monotonic())
