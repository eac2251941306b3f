"""The pictures of entries as prompts show them: read from the store, decoded, and kept for a while."""

from __future__ import annotations

import logging
from contextlib import suppress

from cachetools import LRUCache

from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidPicture, NotFound, NotSupported
from quizglass_server.knowledge.ingest.drafts import Decode
from quizglass_server.knowledge.interface import FoundKnowledge

KEPT_BYTES = 32 << 20
"""Bytes of pixels that are kept: some twenty pictures of the largest useful side."""
logger = logging.getLogger(__name__)


class EntryPictures:
    """Decodes pictures of a knowledge store.

    Args:
        store: has them, encoded; one that keeps vectors alone has none.
        decode: decodes them within the limits and the memory of the server.
    """

    def __init__(self, store: FoundKnowledge, decode: Decode) -> None:
        self._store = store
        self._decode = decode
        self._kept: LRUCache[bytes, Picture] = LRUCache(KEPT_BYTES, lambda picture: picture.pixels.nbytes)

    def let_go(self, size: int) -> None:
        """Keep so many bytes fewer of decoded pictures."""
        while self._kept and size > 0:
            _, oldest = self._kept.popitem()
            size -= oldest.pixels.nbytes

    async def picture(self, sha256: bytes) -> Picture | None:
        """One, decoded; None where the store has none, or one that this server does not decode.

        Raises:
            KnowledgeFailed: the store cannot be read.
            BudgetExceeded, Overloaded: there is no time or no memory to decode it.
        """
        picture = self._kept.get(sha256)
        if picture is None:
            try:
                picture = await self._decode(await self._store.picture(sha256), "picture")
            except (NotFound, NotSupported):
                return None
            except InvalidPicture as error:
                logger.warning("an entry's picture cannot be shown: %s", error.message, extra={"sha256": sha256.hex()})
                return None
            with suppress(ValueError):  # larger than all that is kept
                self._kept[sha256] = picture
        return picture
