"""Looks the picture up among the pictures of the knowledge store: the paper's k_i.

A picture may show several things, and a question is about one of them. So it is looked up by several views
(`crop.views_of`), and an entry counts by its best one. The question helps to choose: entries of the kind that it names
("the boat") go before equally similar ones of other kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import inf
from typing import Protocol

from quizglass.values import Entry, Origin
from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.entries import EntryHit, first_picture
from quizglass_server.domain.turns import Evidence, Picture, StepDetail, Vector
from quizglass_server.knowledge.sources.guarded import GuardedSource
from quizglass_server.knowledge.sources.protocol import PictureQuery
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.scheduling.ledger import handed
from quizglass_server.steps.language.wording import stands_in, words
from quizglass_server.steps.lookup.parts.crop import Part, crop, region_of
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import passages, texts

_LESS = 0.05
"""Cosine allowance for a square that is clearly most like one entry, against a whole view."""
_NEAR = 12
"""Entries that a picture may show though none of them counts: each is a picture to be compared by its keypoints."""


class PictureIndex(Protocol):
    """What can be searched by picture."""

    async def search_views(self, vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        """For each vector, the entries with the nearest pictures, best first."""
        ...


def _told_views(_: list[Vector] | None, __: Picture, views: Sequence[Part]) -> Telling:
    return [StepDetail("part", region=region_of(view)) for view in views], ()


def _count(_: Picture, views: Sequence[Part]) -> float:
    return len(views)


@dataclass(frozen=True, slots=True)
class ViewHits:
    """What views of a picture are like."""

    hits: list[EntryHit]
    """Entries that count, best first."""
    near: list[EntryHit]
    """Those that are most like any of the views, whether they count or not, best first."""


def _told_hits(found: ViewHits | None, _: Sequence[Vector], question: str, *__: object, **___: object) -> Telling:
    return _told_source(found.hits if found is not None else None, (), question)


def _told_source(
    hits: list[EntryHit] | None, _: Sequence[Vector], question: str, *__: object, **___: object
) -> Telling:
    return texts("question", question), passages(picture_evidence(hits or (), 0), lambda hit: hit.search_score, "entry")


@step("embed", role="image_encoder", size=_count, told=_told_views)
async def embed_views(encoder: ImageEncoder, picture: Picture, views: Sequence[Part]) -> list[Vector]:
    """One vector a view, all made in one batch."""
    return await encoder.embed([crop(picture, view) for view in views])


@step("image_search", role="knowledge", told=_told_hits)
async def search_pictures(
    index: PictureIndex,
    vectors: Sequence[Vector],
    question: str,
    tuning: Tuning,
    other_than: Sequence[str] = (),
    step: float = 0.0,
) -> ViewHits:
    """The entries nearest to any of the views, best first, without those under the threshold; see `fused`.

    Views count that are clearly most like one entry (`view_accept`).
    """
    every = by_view = await _by_view(index, vectors, tuning)
    if tuning.view_accept is not None:
        by_view = [hits for hits in by_view if hits and _led(hits) >= tuning.view_accept]
    return ViewHits(fused(by_view, question, tuning, other_than, step), _near(every, question, tuning, other_than))


@step("image_search", role="knowledge", told=_told_hits)
async def search_squares(
    index: PictureIndex,
    vectors: Sequence[Vector],
    question: str,
    tuning: Tuning,
    other_than: Sequence[str] = (),
) -> ViewHits:
    """As `search_pictures`, by squares of a picture.

    Squares count that are clearly most like one entry (`square_accept`). They may be a little less like it than views,
    and count for that entry alone.
    """
    counted = by_view = await _by_view(index, vectors, tuning)
    near = _near(by_view, question, tuning, other_than)
    if (least := tuning.square_accept) is not None:
        counted = [hits[:1] for hits in by_view if hits and _led(hits) >= least]
        tuning = tuning.model_copy(update={"image_accept": tuning.image_accept - _LESS})
    return ViewHits(fused(counted, question, tuning, other_than), near)


def _near(
    by_view: Sequence[Sequence[EntryHit]], question: str, tuning: Tuning, other_than: Sequence[str]
) -> list[EntryHit]:
    every = tuning.model_copy(update={"image_accept": -1.0, "image_candidates": _NEAR})
    return fused(by_view, question, every, other_than)


async def _by_view(index: PictureIndex, vectors: Sequence[Vector], tuning: Tuning) -> list[list[EntryHit]]:
    handed("knowledge", sum(vector.nbytes for vector in vectors))
    return await index.search_views(vectors, tuning.image_candidates)


@step("source", optional=True, told=_told_source)
async def ask_picture_source(
    source: GuardedSource, vectors: Sequence[Vector], _question: str, picture: Picture, least: float
) -> list[EntryHit]:
    """What a source has that looks like a picture, in its order, without what is under `least`, the threshold.

    What it gives without a cosine is taken to reach that.
    """
    found = await source.pictures(PictureQuery(picture, vectors))
    hits = [
        EntryHit(
            Entry(f"{source.name}:{each.id}", each.title, each.text, source=each.address or source.name),
            least if each.score is None else each.score,
        )
        for each in found
    ]
    return [hit for hit in hits if hit.score >= least]


def _led(hits: Sequence[EntryHit]) -> float:
    """The first hit's cosine and its lead before the second; of an only one there is nothing to be told apart from."""
    return 2 * hits[0].score - hits[1].score if len(hits) > 1 else inf


def fused(
    by_view: Sequence[Sequence[EntryHit]],
    question: str,
    tuning: Tuning,
    other_than: Sequence[str] = (),
    step: float = 0.0,
) -> list[EntryHit]:
    """What the views found, each entry once with its best cosine, without those under the threshold.

    Entries that a text of `other_than` names are left out where there are others.

    Returns:
        At most `image_candidates`, by cosine, `kind_bonus`, and `step` less for each view before the one that found
        them; `score` stays the cosine.
    """
    best: dict[str, tuple[float, EntryHit]] = {}
    for later, hits in enumerate(by_view):
        for hit in hits:
            placed, before = hit.score - step * later, best.get(hit.entry.id)
            if hit.score >= tuning.image_accept and (before is None or placed > before[0]):
                best[hit.entry.id] = (placed, hit)
    named, asked = [words(text) for text in other_than], words(question)
    found = list(best.values())
    others = [each for each in found if not any(stands_in(words(each[1].entry.title), text) for text in named)]

    def rank(found: tuple[float, EntryHit]) -> float:
        placed, hit = found
        return placed + (tuning.kind_bonus if stands_in(words(hit.entry.kind), asked) else 0.0)

    return [hit for _, hit in sorted(others or found, key=rank, reverse=True)[: tuning.image_candidates]]


def in_turn(found: Sequence[Sequence[EntryHit]]) -> list[EntryHit]:
    """What was found for several things, each entry once: the first of every one, then the second of each, ..."""
    once: dict[str, EntryHit] = {}
    for hit in (hit for rank in zip_longest(*found) for hit in rank if hit is not None):
        once.setdefault(hit.entry.id, hit)
    return list(once.values())


def picture_evidence(hits: Sequence[EntryHit], shown: int) -> list[Evidence]:
    """Hits as evidence, not numbered yet; the first `shown` are for the generator."""
    return [
        Evidence(
            id="",
            origin=Origin.IMAGE_SEARCH,
            entry_id=hit.entry.id,
            title=hit.entry.title,
            text=hit.entry.caption,
            search_score=hit.score,
            source=hit.entry.source,
            used=position < shown,
            picture=first_picture(hit.entry),
        )
        for position, hit in enumerate(hits)
    ]
