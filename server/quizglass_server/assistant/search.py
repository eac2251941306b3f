"""Searches the knowledge store outside of any turn: by text, by picture, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.domain.turns import Evidence, Picture, Vector
from quizglass_server.errors import InvalidInput, needed
from quizglass_server.roles.image_encoder import IMAGE_ENCODER, ImageEncoder
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.at_once import at_once
from quizglass_server.steps.lookup.image_search import embed_views, picture_evidence
from quizglass_server.steps.lookup.parts.crop import WHOLE
from quizglass_server.steps.lookup.text_search import search_texts, text_evidence

_ANY = SearchOptions()
_WIDER = 4
"""By both, each search looks this many times further, so that an entry fair in both can win."""


async def search(
    resources: Resources,
    text: str,
    picture: Picture | None,
    limit: int,
    options: SearchOptions = _ANY,
    more: Sequence[Picture] = (),
) -> list[Evidence]:
    """The best results, numbered "1", "2", ... in order.

    By text they are chunks, by picture (and by more of the same thing, each compared as a whole) entries. By both they
    are entries: the scores of an entry's best chunk and best picture are added.

    Raises:
        InvalidInput: neither text nor picture is given.
        RoleMissing: the bundle lacks the encoder.
    """
    pictures = [*more] if picture is None else [picture, *more]
    if not text and not pictures:
        raise InvalidInput("text", "empty, and there is no picture; give at least one of the two")
    if resources.knowledge.count() == 0:
        return []
    if not pictures:
        results = await _by_text(resources, text, limit, options)
    elif not text:
        results = await _by_pictures(resources, pictures, limit, options)
    else:
        wider = _WIDER * limit
        chunks, entries = await at_once(
            (_by_text(resources, text, wider, options), _by_pictures(resources, pictures, wider, options))
        )
        results = _added(chunks, entries)
    return [replace(item, id=str(position + 1)) for position, item in enumerate(results[:limit])]


async def _by_text(resources: Resources, text: str, limit: int, options: SearchOptions) -> list[Evidence]:
    hits = search_texts(resources.models[TEXT_ENCODER], resources.knowledge, text, limit, options)
    return text_evidence(await hits)


async def _by_pictures(
    resources: Resources, pictures: Sequence[Picture], limit: int, options: SearchOptions
) -> list[Evidence]:
    encoder = needed(resources.models[IMAGE_ENCODER], "image_encoder", "searching by picture")
    vectors = [await _whole(resources, encoder, picture) for picture in pictures]
    return picture_evidence(await resources.knowledge.search_crops(vectors, limit, options), shown=0)


async def _whole(resources: Resources, encoder: ImageEncoder, picture: Picture) -> Vector:
    (vector,) = await resources.vectors(picture, [WHOLE], lambda views: embed_views(encoder, picture, views))
    return vector


def _added(chunks: Sequence[Evidence], entries: Sequence[Evidence]) -> list[Evidence]:
    """One result an entry, its scores added; a chunk tells more than a caption, so it is what is shown."""
    best: dict[str, Evidence] = {}
    for passage in chunks:
        best.setdefault(passage.entry_id, passage)
    for entry in entries:
        chunk = best.get(entry.entry_id)
        both = replace(chunk, search_score=chunk.search_score + entry.search_score) if chunk is not None else entry
        best[entry.entry_id] = both
    return sorted(best.values(), key=lambda item: -item.search_score)
