"""Image search among photographed things: on a plain background, and in busy photographs cut in several ways."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from time import perf_counter

from bench.everyday.fetched.things import Thing, in_photograph, on_plain, things
from bench.everyday.setup import Encoders, Setup, between, encoders, knowing
from bench.results import Row, at_least, ratio
from bench.sections import Part
from quizglass_bundle.files import Bundle
from quizglass_bundle.tuning import Tuning
from quizglass_export.everyday.weights import PHOTOGRAPHS
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.pictures import decode_picture
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.knowledge.keypoints import EntryKeypoints
from quizglass_server.knowledge.pictures import EntryPictures
from quizglass_server.steps.lookup.image_search import embed_views, fused, search_pictures, search_squares
from quizglass_server.steps.lookup.parts.crop import LEFT, MIDDLE, RIGHT, WHOLE, View, squares_of, views_of
from quizglass_server.steps.lookup.parts.crop import Part as Cut
from quizglass_server.steps.lookup.spatial import match_places
from quizglass_server.stores import tuning

BUSY = ("china.jpg", "flower.jpg", "coffee.png", "chelsea.png", "coins.png", "rocket.jpg", "gravel.png")
SQUARED, SERVED = "whole and the bundle's squares", "as the bundle is served"
"""All that the bundle has looked up and nothing dropped; and as a server does it, with the bundle's lines."""
_DEPTHS = (1, 5)
_ASKED, _QUICK = 300, 6
_BAR = 85.0
_TIMED = 20
"""Pictures on which it is measured what each way costs."""
Cuts = Sequence[Cut]
CutsOf = Callable[[Picture], Cuts]


def with_squares(*sides: float) -> CutsOf:
    """The whole frame, and squares of these sides, as shares of the shorter one."""
    return lambda picture: (WHOLE, *squares_of("", picture, sides))


@dataclass(frozen=True)
class Way:
    """How pictures are looked up: by some parts, and where these show nothing known by others."""

    cuts: CutsOf
    how: Tuning = field(default_factory=Tuning)
    """Drops nothing."""
    then: CutsOf = lambda _: ()

    def parts(self, picture: Picture) -> Cuts:
        """All that may be looked up of a picture."""
        return (*self.cuts(picture), *self.then(picture))

    async def look_up(
        self, base: KnowledgeBase, picture: Picture, vectors: Mapping[Cut, Vector]
    ) -> tuple[list[EntryHit], int]:
        """What its parts show, and in how many searches."""
        hits = await _search(base, [vectors[cut] for cut in self.cuts(picture)], self.how)
        others = self.then(picture)
        if hits or not others:
            return hits, 1
        return await _search(base, [vectors[cut] for cut in others], self.how), 2


@dataclass(frozen=True)
class Served(Way):
    """As `turn.lookups` does it for a question that names no place, without moving squares that nearly count."""

    @classmethod
    def of(cls, how: Tuning) -> Served:
        """By the views and squares of a bundle."""
        views, squares = how.views, how.views.squares
        return cls(lambda _: views_of("", views), how, lambda picture: squares_of("", picture, squares))

    async def look_up(
        self, base: KnowledgeBase, picture: Picture, vectors: Mapping[Cut, Vector]
    ) -> tuple[list[EntryHit], int]:
        """What the picture's views show, or else its squares; by keypoints first where cosines do not count."""
        keypoints = EntryKeypoints(EntryPictures(base, _decoded))

        async def shown(near: Sequence[EntryHit]) -> list[EntryHit]:
            least = self.how.spatial_accept
            return [] if least is None else await match_places(keypoints, picture, near, least)

        seen = await search_pictures(base, [vectors[cut] for cut in self.cuts(picture)], "", self.how)
        hits, others = seen.hits or await shown(seen.near), self.then(picture)
        if hits or not others:
            return hits, 1
        found = await search_squares(base, [vectors[cut] for cut in others], "", self.how)
        return await shown(found.near) or found.hits, 2


async def _decoded(encoded: bytes, field: str) -> Picture:
    return decode_picture(encoded, PictureLimits(), field)


CUTS: Mapping[str, Way] = {
    "whole frame": Way(lambda _: (WHOLE,)),
    "whole and halves": Way(lambda _: (WHOLE, *(View(at, 0.5) for at in (LEFT, MIDDLE, RIGHT)))),
    "whole and squares of 0.67": Way(with_squares(0.67)),
    "whole and squares of 0.48": Way(with_squares(0.48)),
}
"""Ways to cut a picture, all parts of which are looked up and nothing dropped: what can be found, and for how much."""


@dataclass(frozen=True)
class Looked:
    """At which place the right entry came for each thing (0: not among the first five), and in how many searches."""

    places: list[int] = field(default_factory=list)
    searches: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """To embed and search all parts that there may be, of some of the pictures."""

    def within(self, depth: int) -> int:
        """How many came among the first so many."""
        return sum(0 < place <= depth for place in self.places)


async def plain(setup: Setup) -> Part:
    """Turned, resized and lit otherwise, on one colour."""
    stored, version = things(setup.folder / "debian")
    stored = stored[: setup.count(len(stored), _QUICK)]
    loaded = await encoders(setup.bundle)
    async with knowing(setup, loaded, (thing.entry() for thing in stored)) as base:
        setup.say(f"looking up {len(stored)} things on a plain background")
        draw = partial(on_plain, seed=setup.seed)
        (looked,) = await _look_up(base, loaded, stored, draw, [CUTS["whole frame"]])
    rows = _rows("plain background, turned and resized", looked, {1: 95.0, 5: 99.0})
    rows.append(Row("plain background: to embed and search one picture", 1e3 * median(looked.seconds), "ms"))
    return Part(rows, {"things": len(stored), "package": version, "seed": setup.seed})


async def busy(setup: Setup) -> Part:
    """Pasted into photographs of something else; each way to cut it on the same pictures, and as the bundle has it."""
    stored, version = things(setup.folder / "debian")
    stored = stored[: setup.count(len(stored), _QUICK)]
    asked = random.Random(setup.seed).sample(stored, setup.count(_ASKED, _QUICK))
    photographs = [setup.workdir / PHOTOGRAPHS[0].folder / name for name in BUSY]
    loaded = await encoders(setup.bundle, threads=1)
    how = tuning(Bundle.load(setup.bundle, hashes=False))
    alone = f"whole frame, from {how.image_accept} on"
    ways = {**CUTS, SQUARED: Way(with_squares(*how.views.squares))}
    ways |= {alone: replace(CUTS["whole frame"], how=how), SERVED: Served.of(how)}
    draw = partial(in_photograph, photographs=photographs, seed=setup.seed)
    async with knowing(setup, loaded, (thing.entry() for thing in stored)) as base:
        setup.say(f"looking up {len(asked)} things in photographs")
        looked = dict(zip(ways, await _look_up(base, loaded, asked, draw, list(ways.values())), strict=True))
    rows = []
    for name, each in looked.items():
        peer = alone if name == SERVED else "whole frame"
        rows += _busy_rows(name, each, None if name in ("whole frame", alone) else looked[peer], peer)
    twice = 100 * sum(each > 1 for each in looked[SERVED].searches) / len(asked)
    rows.append(Row(f"in photographs, {SERVED}: looked up in squares too", twice, "%"))
    return Part(rows, {"things": len(stored), "package": version, "seed": setup.seed, "backgrounds": list(BUSY)})


async def _look_up(
    base: KnowledgeBase, loaded: Encoders, asked: Sequence[Thing], draw: partial[Picture], ways: Sequence[Way]
) -> list[Looked]:
    """Every thing's picture looked up in each way; a part that several ways have is embedded once."""
    looked = [Looked() for _ in ways]
    for number, thing in enumerate(asked):
        picture = draw(thing)
        parts = list(dict.fromkeys(part for way in ways for part in way.parts(picture)))
        vectors = dict(zip(parts, await embed_views(loaded.image, picture, parts), strict=True))
        for way, each in zip(ways, looked, strict=True):
            hits, searches = await way.look_up(base, picture, vectors)
            ids = [hit.entry.id for hit in hits]
            each.places.append(ids.index(thing.id) + 1 if thing.id in ids else 0)
            each.searches.append(searches)
            if number < _TIMED:
                each.seconds.append(await _seconds(base, loaded, picture, way.parts(picture)))
    return looked


async def _seconds(base: KnowledgeBase, loaded: Encoders, picture: Picture, parts: Cuts) -> float:
    began = perf_counter()
    await _search(base, await embed_views(loaded.image, picture, parts), Tuning())
    return perf_counter() - began


async def _search(base: KnowledgeBase, vectors: Sequence[Vector], how: Tuning) -> list[EntryHit]:
    return fused(await base.search_views(vectors, max(_DEPTHS)), "", how)


def _rows(name: str, looked: Looked, bars: Mapping[int, float]) -> list[Row]:
    count = len(looked.places)
    return [
        at_least(f"{name}, recall@{depth} ({between(hits, count)} things)", 100 * hits / count, "%", bars[depth])
        for depth in _DEPTHS
        for hits in (looked.within(depth),)
    ]


def _busy_rows(name: str, looked: Looked, whole: Looked | None, peer: str) -> list[Row]:
    """Recall beside the whole frame's on the same pictures, and what it costs; the bar is for the bundle's squares.

    `peer` says which whole frame's: of all that is found, or from the bundle's threshold on.
    """
    count, rows = len(looked.places), []
    for depth in _DEPTHS:
        hits = looked.within(depth)
        title = f"in photographs, {name}, recall@{depth} ({between(hits, count)} things)"
        row = Row(title, 100 * hits / count, "%")
        if name == SQUARED and depth == max(_DEPTHS):
            row = at_least(title, 100 * hits / count, "%", _BAR)
        rows.append(row if whole is None else _beside(row, peer, 100 * whole.within(depth) / count))
    title = f"in photographs, {name}: to embed and search all parts of one picture, one thread"
    took = Row(title, 1e3 * median(looked.seconds), "ms")
    return [*rows, took if whole is None else _beside(took, peer, 1e3 * median(whole.seconds))]


def _beside(row: Row, peer: str, whole: float) -> Row:
    return replace(row, peer=peer, peer_value=whole, ratio=ratio(row.value or 0.0, whole))
