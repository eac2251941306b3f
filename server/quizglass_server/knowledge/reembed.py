"""Makes the vectors anew that another encoder made: of chunks from their entries, of pictures from their bytes.

Runs when a store is opened. Every batch is a commit of its own, so an interruption loses no more than one.
"""

from __future__ import annotations

import asyncio
import logging

from quizglass_server.domain import Vector
from quizglass_server.errors import InvalidInput
from quizglass_server.knowledge.chunks import chunk_entry, passage
from quizglass_server.knowledge.embedding import Embedders
from quizglass_server.knowledge.ingest import Decode
from quizglass_server.knowledge.reader import Reader
from quizglass_server.knowledge.writer import Writer
from quizglass_server.models.faces import ImageEncoder, TextEncoder

_log = logging.getLogger(__name__)
_BATCH = 64


async def reembed_texts(reader: Reader, writer: Writer, encoder: TextEncoder, space: str) -> None:
    """Cut and embed the entries whose chunks are of another space."""
    done = 0
    while outside := await asyncio.to_thread(reader.entries_outside, space, _BATCH):
        embedders = Embedders(encoder, None)
        cut: list[tuple[int, list[str], list[Vector]]] = []
        for number, entry in outside:
            chunks = await asyncio.to_thread(chunk_entry, entry, encoder.count_tokens)
            vectors: list[Vector] = []
            cut.append((number, chunks, vectors))
            for chunk in chunks:
                await embedders.passages.put(passage(entry.title, chunk), vectors.append)
        await embedders.flush()
        for number, chunks, vectors in cut:
            await asyncio.to_thread(writer.replace_chunks, number, chunks, vectors, space)
        done += len(outside)
        _log.info("the text encoder changed: the texts of %d entries are embedded anew", done)


async def reembed_pictures(reader: Reader, writer: Writer, encoder: ImageEncoder, space: str, decode: Decode) -> None:
    """Decode and embed the pictures whose vectors are of another space. One that no longer decodes is not found."""
    done = 0
    while outside := await asyncio.to_thread(reader.pictures_outside, space, _BATCH):
        embedders = Embedders(None, encoder)
        made: dict[int, list[Vector]] = {}
        for label, encoded in outside:
            made[label] = []
            try:
                picture = await asyncio.to_thread(decode, encoded, "picture")
            except InvalidInput as refusal:
                _log.warning("a stored picture cannot be embedded anew: %s", refusal.message)
                continue
            await embedders.pictures.put(picture.pixels, made[label].append)
        await embedders.flush()
        vectors = {label: found[0] if found else None for label, found in made.items()}
        await asyncio.to_thread(writer.replace_picture_vectors, vectors, space)
        done += len(outside)
        _log.info("the image encoder changed: %d pictures are embedded anew", done)
