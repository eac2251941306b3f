"""Brings what a recognised entry says of itself: the passages of its own that fit the question.

An entry found by picture has a caption at best, and of a folder of photographs not even that; the answer stands in its
text, of which a search of the whole store would bring other entries' as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quizglass.values import SearchMode
from quizglass_server.domain.entries import ChunkHit, SearchOptions
from quizglass_server.domain.turns import Evidence
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.steps.lookup.text_search import TextIndex, search_texts, text_evidence
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import passages, texts

_END = 24
"""Characters by which a passage is found again in its entry's text: its beginning may repeat headings."""


def _told(hits: list[list[ChunkHit]] | None, _: TextEncoder | None, question: str, *__: object) -> Telling:
    own = [hit for each in hits or () for hit in each]
    return texts("question", question), passages(text_evidence(own), lambda passage: passage.search_score)


def _count(_: TextEncoder | None, __: str, entries: Sequence[str], *___: object) -> float:
    return len(entries)


@step("own_passages", role="knowledge", optional=True, size=_count, told=_told)
async def own_passages(
    index: TextIndex, encoder: TextEncoder | None, question: str, entries: Sequence[str], limit: int
) -> list[list[ChunkHit]]:
    """Of each entry by its id, in order, the `limit` passages that fit the question best, best first; by words alone
    without an encoder."""
    mode = SearchMode.HYBRID if encoder is not None else SearchMode.KEYWORDS
    options = [SearchOptions(mode=mode, entries=(entry,)) for entry in entries]
    return [await search_texts(encoder, index, question, limit, only) for only in options]


def in_order(hits: Sequence[ChunkHit]) -> list[ChunkHit]:
    """Passages of one entry as its text has them; those that are not told apart by their ends stand last."""

    def place(hit: ChunkHit) -> tuple[bool, int]:
        at = hit.entry.text.find(hit.text[-_END:])
        return at < 0, at

    return sorted(hits, key=place)


def with_passages(evidence: Sequence[Evidence], own: Sequence[Sequence[ChunkHit]]) -> list[Evidence]:
    """The first pieces of evidence with these passages behind their captions, each once."""
    said = [
        replace(item, text=" ".join(dict.fromkeys(text for text in (item.text, *(hit.text for hit in hits)) if text)))
        for item, hits in zip(evidence, own, strict=False)
    ]
    return [*said, *evidence[len(said) :]]
