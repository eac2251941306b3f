"""Makes the vectors anew that another encoder made: of chunks from their entries, of pictures from their bytes.

Runs in the background after a store was opened. Every batch is a commit of its own, so an interruption loses no more
than one; until its turn comes, a chunk is found by its words alone and a picture not at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from quizglass_server.decoding.markup.converter import Converter, is_long_markup
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.errors import InvalidInput, InvalidPicture, Overloaded
from quizglass_server.knowledge.content.chunks import chunk_entry, passage
from quizglass_server.knowledge.content.records import Change, VectorKind
from quizglass_server.knowledge.database.disk import log_failure
from quizglass_server.knowledge.database.threads import StoreThreads
from quizglass_server.knowledge.database.writer import DatabaseWriter, Rechunked
from quizglass_server.knowledge.ingest.drafts import Decode, spaces
from quizglass_server.knowledge.ingest.embedding import Embedders
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.roles.text_encoder import TextEncoder

logger = logging.getLogger(__name__)
_BATCH = 64
_BATCH_BYTES = 32 << 20  # of encoded pictures

Follow = Callable[[Change], None]
"""Brings the indexes up to a commit."""


async def reembed(
    store: StoreThreads,
    follow: Follow,
    text_encoder: TextEncoder | None,
    image_encoder: ImageEncoder | None,
    decode: Decode,
    converter: Converter,
) -> bool:
    """Make all vectors of other encoders anew. What goes wrong is logged: the rest is tried at the next start.

    Returns:
        Whether there were such vectors and there are none any more.
    """
    space = spaces(text_encoder, image_encoder)
    done = 0
    try:
        if text_encoder is not None:
            done += await _texts(store, follow, text_encoder, space[VectorKind.CHUNKS].name, converter)
        if image_encoder is not None:
            done += await _pictures(store, follow, image_encoder, space[VectorKind.PICTURES].name, decode)
    except Exception as error:
        what = "vectors of another encoder could not be made anew; it is tried again at the next start"
        log_failure(logger, what, error)
        return False
    return done > 0


async def _texts(store: StoreThreads, follow: Follow, encoder: TextEncoder, space: str, converter: Converter) -> int:
    """Cut and embed the entries whose chunks are of another space; how many there were."""
    done, embedders = 0, Embedders(encoder, None)
    while outside := await store.read(lambda reader: reader.entries_outside(space, _BATCH)):
        embedded: list[Rechunked] = []
        for number, entry in outside:
            content = await converter.blocks(entry.text, entry.text_format) if is_long_markup(entry) else None
            chunks = await asyncio.to_thread(chunk_entry, entry, encoder.count_tokens, content)
            embedded.append(Rechunked(number, entry.title, chunks))
            for chunk in chunks:
                await embedders.passages.put(passage(entry.title, chunk), embedded[-1].vectors.append)
        await embedders.flush()
        await store.write(partial(DatabaseWriter.replace_chunks, rechunked=embedded, space=space), follow)
        done += len(outside)
        logger.info("the text encoder changed: the texts of %d entries are embedded anew", done)
    return done


async def _pictures(store: StoreThreads, follow: Follow, encoder: ImageEncoder, space: str, decode: Decode) -> int:
    """Decode and embed the pictures whose vectors are of another space; how many there were.

    One that no longer decodes is not found.
    """
    done, embedders = 0, Embedders(None, encoder)
    while outside := await store.read(lambda reader: reader.pictures_outside(space, _BATCH, _BATCH_BYTES)):
        vectors: dict[int, list[Vector]] = {label: [] for label, _ in outside}
        for label, encoded in outside:
            try:
                picture = await _decoded(encoded, decode)
            except InvalidInput as refusal:
                logger.warning("a stored picture cannot be embedded anew: %s", refusal.message)
                continue
            await embedders.pictures.put(picture, vectors[label].append)
        await embedders.flush()
        one_each = {label: each[0] if each else None for label, each in vectors.items()}
        await store.write(partial(DatabaseWriter.replace_picture_vectors, vectors=one_each, space=space), follow)
        done += len(outside)
        logger.info("the image encoder changed: %d pictures are embedded anew", done)
    return done


async def _decoded(encoded: bytes, decode: Decode) -> Picture:
    """The picture, as soon as there is room to decode it: this is background work. Raises InvalidPicture."""
    while True:
        try:
            return await decode(encoded, "picture")
        except Overloaded as busy:
            if busy.retry_after_s is None:  # it came in when there was more memory
                raise InvalidPicture("picture", busy.message) from busy
            await asyncio.sleep(busy.retry_after_s)
