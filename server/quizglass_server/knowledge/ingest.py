"""From an entry as given to a draft ready to be written: checked, cut into chunks, decoded, embedded."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace

from quizglass_server.domain import Picture, PicturedEntry
from quizglass_server.errors import RoleMissing
from quizglass_server.knowledge.chunks import CHUNKING, chunk_entry, passage
from quizglass_server.knowledge.derived import Space
from quizglass_server.knowledge.embedding import Embedders
from quizglass_server.knowledge.looks import look_of
from quizglass_server.knowledge.records import Draft, Kind
from quizglass_server.knowledge.validation import checked_entry
from quizglass_server.models.faces import ImageEncoder, TextEncoder

Decode = Callable[[bytes, str], Picture]
"""Decodes a picture; the second argument is the field that a refusal names. Raises InvalidPicture. Blocks."""


class Ingest:
    """One import."""

    def __init__(self, text_encoder: TextEncoder | None, image_encoder: ImageEncoder | None, decode: Decode) -> None:
        """Embed with these encoders; a role that is missing fails the first entry that needs it."""
        self._text_encoder = text_encoder
        self._embedders = Embedders(text_encoder, image_encoder)
        self._decode = decode

    async def prepare(self, given: PicturedEntry) -> Draft:
        """Check an entry and begin to embed it; its vectors are all there after `finish`.

        Raises:
            InvalidInput: the entry is not as documented, or a picture cannot be used.
            RoleMissing: the bundle has no encoder for what the entry holds.
        """
        draft = await asyncio.to_thread(self._draft, given)
        for number, encoded in enumerate(draft.pictures):
            embedder = self._embedders.pictures
            picture = await asyncio.to_thread(self._decode, encoded, f"pictures[{number}]")
            draft.looks.append(await asyncio.to_thread(look_of, picture.pixels))
            await embedder.put(picture.pixels, draft.picture_vectors.append)
        for chunk in draft.chunks:
            await self._embedders.passages.put(passage(draft.entry.title, chunk), draft.chunk_vectors.append)
        return draft

    async def finish(self) -> None:
        """Embed what waits."""
        await self._embedders.flush()

    def _draft(self, given: PicturedEntry) -> Draft:
        checked = checked_entry(given)
        pictures = {hashlib.sha256(encoded).digest(): encoded for encoded in checked.pictures}
        entry = replace(checked.entry, picture_sha256=tuple(pictures))
        chunks = chunk_entry(entry, self._text_encoder.count_tokens if self._text_encoder else len)
        if chunks and self._text_encoder is None:
            raise RoleMissing("text_encoder", "adding entries with text")
        return Draft(entry, chunks, tuple(pictures.values()))


def spaces(text_encoder: TextEncoder | None, image_encoder: ImageEncoder | None) -> dict[Kind, Space]:
    """What makes the vectors of each kind. Missing roles have none."""
    made: dict[Kind, Space] = {}
    if text_encoder is not None:
        made[Kind.CHUNKS] = Space(f"{text_encoder.fingerprint} {CHUNKING}", text_encoder.dimension)
    if image_encoder is not None:
        made[Kind.PICTURES] = Space(image_encoder.fingerprint, image_encoder.dimension)
    return made
