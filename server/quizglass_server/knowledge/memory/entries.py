"""A sighting as an entry of a knowledge store, and back.

The frame's hash is the entry's kind and the session its source, which filters know. The text is question and answer,
the caption what was recognised, so that both are cut, embedded and found as any entry's are.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from quizglass.text import clean_line, clean_text
from quizglass.values import Entry, Filter
from quizglass_server.config.settings import MemoryOptions
from quizglass_server.decoding.pictures import thumbnail
from quizglass_server.domain.entries import first_picture
from quizglass_server.domain.sightings import Seen, Sighting, SightingFilter
from quizglass_server.knowledge.content.chunks import chunk_entry
from quizglass_server.knowledge.content.perceptual_hash import perceptual_hash_of
from quizglass_server.knowledge.content.records import EntryDraft
from quizglass_server.roles.text_encoder import TextEncoder

_BREAK = "\n\n"
NO_PICTURE = hashlib.sha256(b"").digest()
"""Hash of the picture of no bytes, which stands for a thumbnail that is not kept."""


def entry_of(sighting: Sighting, ttl_s: int) -> Entry:
    """The entry of a sighting, without a picture."""
    return Entry(
        id=sighting.id,
        title=sighting.recognised[0] if sighting.recognised else "",
        caption="\n".join(sighting.recognised),
        kind=sighting.frame_sha256.hex(),
        text=_BREAK.join(text for text in (sighting.question, sighting.answer) if text),
        source=sighting.session_id,
        time=sighting.time,
        expires_after=ttl_s,
    )


def sighting_of(entry: Entry) -> Sighting:
    """The sighting of an entry."""
    question, _, answer = entry.text.partition(_BREAK)
    shown = first_picture(entry) or NO_PICTURE
    return Sighting(
        id=entry.id,
        time=entry.time,
        frame_sha256=bytes.fromhex(entry.kind),
        session_id=entry.source,
        question=question,
        answer=answer,
        recognised=tuple(title for title in entry.caption.split("\n") if title),
        expires_after=entry.expires_after,
        thumbnail_sha256=None if shown == NO_PICTURE else shown,
    )


def filter_of(wanted: SightingFilter) -> Filter:
    """The filter of entries that does the same."""
    return Filter(
        kinds=(wanted.frame_sha256.hex(),) if wanted.frame_sha256 else (),
        sources=(wanted.session,) if wanted.session else (),
        time_from=wanted.time_from,
        time_until=wanted.time_until,
    )


def drafted(seen: Seen, views: int, options: MemoryOptions, encoder: TextEncoder | None) -> EntryDraft:
    """What is written of a sighting but for its vectors, for a picture with so many views. Blocks.

    Without a text encoder it has no chunks, and is found by picture, time and session alone.
    """
    sighting, pixels = seen.sighting, seen.picture.pixels
    question, answer = (
        (clean_line(sighting.question), clean_text(sighting.answer)) if options.memory_texts else ("", "")
    )
    entry = entry_of(replace(sighting, question=question, answer=answer if question else ""), options.memory_ttl_s)
    encoded = thumbnail(pixels, options.memory_thumbnail_side) if options.memory_thumbnail_side else b""
    shown = (hashlib.sha256(encoded).digest(),) * views
    chunks = chunk_entry(entry, encoder.count_tokens) if encoder is not None else ()
    hashes = [perceptual_hash_of(pixels)] * views
    return EntryDraft(replace(entry, picture_sha256=shown), chunks, (encoded,) * views, perceptual_hashes=hashes)
