"""Where the whole picture shows nothing known, smaller squares of it are looked up; elsewhere they cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quizglass.values import Entry, EvidenceFound, SkippedStep
from quizglass_bundle.tuning import Views
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.domain.entries import ChunkHit, EntryHit
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.keypoints import Keypoints as Found
from quizglass_server.knowledge.content.keypoints import frame_keypoints, stored_keypoints
from quizglass_server.policies.tools import Tools
from tests.support.pictures.textures import texture
from tests.support.scripted_policy import of
from tests.support.turn_fakes import TAGRIN, VELMORA, World, done, turn

SQUARES = Views(squares=(0.5,))


def busy(*, whole: float, square: float, **tuning: Any) -> World:
    """A world in which the whole picture is so like a boat, and its squares so like a car."""
    world = World(image_accept=0.5, **({"views": SQUARES} | tuning))

    async def embed(pictures: Sequence[Picture]) -> list[Vector]:
        await world.models._enter("image_encoder", [view.pixels.shape for view in pictures])
        return [np.full(4, len(pictures), np.float32) for _ in pictures]

    async def search_views(vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        hit = EntryHit(TAGRIN, whole) if len(vectors) == 1 else EntryHit(VELMORA, square)
        return [[hit] for _ in vectors]

    world.models.embed = embed  # type: ignore[method-assign]
    world.knowledge.search_views = search_views  # type: ignore[method-assign]
    return world


async def look(tools: Tools) -> Draft:
    await tools.search_image()
    return Draft()


def titles(events: Any) -> list[str]:
    return [item.title for found in of(EvidenceFound, events) for item in found.items]


async def test_a_thing_that_the_whole_picture_hides_is_found_in_a_square(ask: Any) -> None:
    world = busy(whole=0.4, square=0.7)
    events = await ask(world, look)
    assert titles(events) == ["Velmora"]
    (first, squares) = world.models.calls.of("image_encoder")
    assert first == [(6, 8, 3)]
    assert len(squares) > 4
    assert set(squares) <= {(height, width, 3) for height in (3, 4) for width in (3, 4)}
    stages = [timing.stage for timing in done(events).timings]
    assert stages.count("embed") == stages.count("image_search") == 2


@pytest.mark.parametrize(
    ("tuning", "whole", "found"),
    [({}, 0.6, ["Tagrin"]), ({"views": Views()}, 0.4, [])],
    ids=["recognised as a whole", "the bundle has no squares"],
)
async def test_squares_cost_nothing_and_change_nothing_where(
    tuning: Any, whole: float, found: list[str], ask: Any
) -> None:
    world = busy(whole=whole, square=0.7, **tuning)
    assert titles(await ask(world, look)) == found
    assert len(world.models.calls.of("image_encoder")) == 1


async def test_squares_are_left_out_where_the_budget_has_no_time_for_them(ask: Any) -> None:
    world = busy(whole=0.4, square=0.7)
    world.resources.costs.took("embed", 1.0, 1)
    events = await ask(world, look, budget_s=2.0, now=lambda: 0.0)
    assert titles(events) == []
    assert len(world.models.calls.of("image_encoder")) == 1
    assert SkippedStep("embed", "BUDGET") in done(events).skipped


@pytest.mark.parametrize(("second", "found"), [(0.4, ["Velmora"]), (0.58, [])], ids=["clear", "like two entries"])
async def test_a_square_counts_only_if_it_is_clearly_most_like_one_entry(
    second: float, found: list[str], ask: Any
) -> None:
    world = busy(whole=0.4, square=0.6, square_accept=0.7)
    first = world.knowledge.search_views

    async def search_views(vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        more = [EntryHit(TAGRIN, second)] if len(vectors) > 1 else []
        return [[*hits, *more] for hits in await first(vectors, limit)]

    world.knowledge.search_views = search_views  # type: ignore[method-assign]
    assert titles(await ask(world, look)) == found


@pytest.mark.parametrize(("second", "found"), [(0.45, ["Tagrin"]), (0.55, [])], ids=["clear", "like two"])
async def test_the_whole_picture_counts_only_if_it_is_clearly_most_like_one_entry(
    second: float, found: list[str], ask: Any
) -> None:
    world = busy(whole=0.6, square=0.4, view_accept=0.7, views=Views())
    first = world.knowledge.search_views

    async def search_views(vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        return [[*hits, EntryHit(VELMORA, second)] for hits in await first(vectors, limit)]

    world.knowledge.search_views = search_views  # type: ignore[method-assign]
    assert titles(await ask(world, look)) == found


@pytest.mark.parametrize(("square", "found"), [(0.47, ["Velmora"]), (0.44, [])])
async def test_a_clear_square_may_be_a_little_less_like_its_entry(square: float, found: list[str], ask: Any) -> None:
    assert titles(await ask(busy(whole=0.4, square=square, square_accept=0.7), look)) == found


async def test_the_only_entry_of_a_store_leads_before_no_other(ask: Any) -> None:
    assert titles(await ask(busy(whole=0.4, square=0.6, square_accept=0.7), look)) == ["Velmora"]


async def test_what_squares_show_counts_from_the_bundles_threshold_on(ask: Any) -> None:
    assert titles(await ask(busy(whole=0.4, square=0.45), look)) == []


@pytest.mark.parametrize(
    ("question", "scores", "first"),
    [
        ("What is this?", {}, "Velmora"),
        ("Where's the Tagrin from?", {}, "Tagrin"),
        ("Who made this boat?", {"made by Orvex": 0.9}, "Tagrin"),
        ("Who made this boat?", {"made by Orvex": 0.3}, "Velmora"),
    ],
    ids=["the likest", "the one that is named", "the one whose text answers", "none answers"],
)
async def test_of_several_things_in_view_the_one_is_meant_that(
    question: str, scores: dict[str, float], first: str, ask: Any
) -> None:
    world = busy(whole=0.4, square=0.6, square_accept=0.7, quote_accept=0.7)
    world.models.scores = scores

    async def search_views(vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        several = [[EntryHit(VELMORA, 0.8)], *([EntryHit(TAGRIN, 0.7)] for _ in vectors[1:])]
        return several if len(vectors) > 1 else [[EntryHit(VELMORA, 0.4)]]

    world.knowledge.search_views = search_views  # type: ignore[method-assign]
    world.knowledge.chunks = [ChunkHit(entry, entry.caption, 0.9) for entry in (VELMORA, TAGRIN)]
    assert titles(await ask(world, look, asked=turn(question)))[0] == first


async def test_squares_like_no_entry_find_nothing(ask: Any) -> None:
    world = busy(whole=0.4, square=0.6, square_accept=0.1)

    async def search_views(vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        return [[] for _ in vectors]

    world.knowledge.search_views = search_views  # type: ignore[method-assign]
    assert titles(await ask(world, look)) == []


BOOK, POSTER = texture(1), texture(2)


class Keypoints:
    """The wearer's picture shows what is on the pictures of these hashes."""

    def __init__(self, *shown: bytes) -> None:
        self.shown = shown
        self.compared: list[bytes] = []

    async def of_frame(self, _: Picture) -> Found:
        return frame_keypoints(BOOK)

    async def of_entry(self, sha256: bytes) -> Found:
        self.compared.append(sha256)
        return stored_keypoints(BOOK if sha256 in self.shown else POSTER)


def comparing(keypoints: Keypoints, *, whole: float, square: float, **tuning: Any) -> World:
    """A busy world whose entries have pictures."""
    world = busy(whole=whole, square=square, **tuning)
    world.resources = replace(world.resources, keypoints=keypoints)
    world.assistant = Assistant(world.resources)
    first = world.knowledge.search_views

    async def search_views(vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        found = await first(vectors, limit)
        return [[replace(hit, entry=pictured(hit.entry)) for hit in hits] for hits in found]

    world.knowledge.search_views = search_views  # type: ignore[method-assign]
    return world


def pictured(entry: Entry) -> Entry:
    return replace(entry, picture_sha256=(entry.title.encode(),))


@pytest.mark.parametrize(
    ("shown", "embedded"), [(b"Tagrin", 1), (b"Velmora", 2)], ids=["near the whole picture", "near a square"]
)
async def test_what_is_like_nothing_counts_if_it_shares_keypoints(shown: bytes, embedded: int, ask: Any) -> None:
    world = comparing(Keypoints(shown), whole=0.2, square=0.3, spatial_accept=8)
    events = await ask(world, look)
    assert titles(events) == [shown.decode()]
    assert len(world.models.calls.of("image_encoder")) == embedded
    assert [timing.stage for timing in done(events).timings].count("spatial_match") == embedded


async def test_keypoints_go_before_the_likeness_of_a_square(ask: Any) -> None:
    world = comparing(Keypoints(b"Tagrin"), whole=0.2, square=0.9, spatial_accept=8)
    assert titles(await ask(world, look)) == ["Tagrin"]


@pytest.mark.parametrize("tuning", [{}, {"spatial_accept": 1000}], ids=["not set", "more than it shares"])
async def test_what_shares_too_few_keypoints_does_not_count(tuning: dict[str, int], ask: Any) -> None:
    assert titles(await ask(comparing(Keypoints(b"Tagrin"), whole=0.2, square=0.3, **tuning), look)) == []


async def test_keypoints_cost_nothing_where_a_picture_is_like_an_entry(ask: Any) -> None:
    keypoints = Keypoints(b"Tagrin")
    world = comparing(keypoints, whole=0.6, square=0.3, spatial_accept=8)
    assert titles(await ask(world, look)) == ["Tagrin"]
    assert keypoints.compared == []


async def test_a_store_whose_pictures_cannot_be_read_is_searched_by_likeness(ask: Any) -> None:
    class Broken(Keypoints):
        async def of_entry(self, sha256: bytes) -> Found:
            raise KnowledgeFailed("it is damaged")

    events = await ask(comparing(Broken(), whole=0.2, square=0.7, spatial_accept=8), look)
    assert titles(events) == ["Velmora"]
    assert SkippedStep("spatial_match", "FAILED") in done(events).skipped
