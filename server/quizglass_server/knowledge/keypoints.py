"""Keypoints of the pictures of entries and of frames, computed when they are first needed, and kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from cachetools import LRUCache

from quizglass_server.domain.turns import Picture
from quizglass_server.knowledge.content.keypoints import Keypoints, frame_keypoints, stored_keypoints

KEPT_BYTES = 16 << 20
"""Bytes of keypoints that are kept: of some 400 pictures."""
_OBJECTS = 1 << 10
"""Bytes that a picture's keypoints take beside their numbers, so that pictures without any count, too."""
_Key = tuple[str, bytes]
"""Of a frame or of an entry, which are reduced to other sizes, and the picture's own: one may be asked about that is in
the store."""


class Pictures(Protocol):
    """What has the pictures of entries."""

    async def picture(self, sha256: bytes) -> Picture | None:
        """One, decoded; None when there is none that can be shown."""
        ...


class EntryKeypoints:
    """Computes keypoints, on a thread.

    Args:
        pictures: of entries.
    """

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._kept: LRUCache[_Key, Keypoints] = LRUCache(KEPT_BYTES, _size)

    def let_go(self, size: int) -> None:
        """Keep so many bytes fewer."""
        while self._kept and size > 0:
            size -= _size(self._kept.popitem()[1])

    async def of_frame(self, picture: Picture) -> Keypoints:
        """Those of a picture that was asked about."""
        return await self._once(("frame", picture.key), lambda: frame_keypoints(picture.pixels))

    async def of_entry(self, sha256: bytes) -> Keypoints | None:
        """Those of a stored picture; None where there is none that can be shown.

        Raises:
            KnowledgeFailed: the store cannot be read.
            BudgetExceeded, Overloaded: there is no time or no memory to decode it.
        """
        key = "entry", sha256
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        picture = await self._pictures.picture(sha256)
        return None if picture is None else await self._once(key, lambda: stored_keypoints(picture.pixels))

    async def _once(self, key: _Key, compute: Callable[[], Keypoints]) -> Keypoints:
        keypoints = self._kept.get(key)
        if keypoints is None:
            keypoints = await asyncio.to_thread(compute)
            with suppress(ValueError):  # larger than all that is kept
                self._kept[key] = keypoints
        return keypoints


def _size(keypoints: Keypoints) -> int:
    return keypoints.nbytes + _OBJECTS
