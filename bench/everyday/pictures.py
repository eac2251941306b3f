"""Image search among photographed things: on a plain background, and in busy photographs cut in several ways."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter

from bench.everyday.setup import Encoders, Setup, between, encoders, knowing
from bench.everyday.things import Thing, in_photograph, on_plain, things
from bench.results import Row, at_least, ratio
from bench.sections import Part
from quizglass_export.everyday.weights import PHOTOGRAPHS
from quizglass_server.domain.regions import Region
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.steps.lookup.crop import LEFT, MIDDLE, RIGHT, WHOLE, View
from quizglass_server.steps.lookup.crop import Part as Cut
from quizglass_server.steps.lookup.image_search import embed_views, fused
from quizglass_server.steps.tuning import Tuning

BUSY = ("china.jpg", "flower.jpg", "coffee.png", "chelsea.png", "coins.png", "rocket.jpg", "gravel.png")
_DEPTHS = (1, 5)
_ASKED, _QUICK = 300, 6


def tiles(columns: int, rows: int, size: float) -> tuple[Region, ...]:
    """A grid of square-ish tiles that overlap, each `size` of a frame's width and height."""
    steps = [[(1 - size) * at / max(count - 1, 1) for at in range(count)] for count in (columns, rows)]
    return tuple(Region(x, y, x + size, y + size) for y in steps[1] for x in steps[0])


CUTS: Mapping[str, tuple[Cut, ...]] = {
    "whole frame": (WHOLE,),
    "whole and halves": (WHOLE, *(View(at, 0.5) for at in (LEFT, MIDDLE, RIGHT))),
    "whole and 2 x 2 tiles": (WHOLE, *tiles(2, 2, 0.6)),
    "whole, 2 x 2 and 3 x 3 tiles": (WHOLE, *tiles(2, 2, 0.6), *tiles(3, 3, 0.4)),
}
"""`evidence.views` of a bundle can have the halves; tiles are what a client can send as `more_pictures`."""


@dataclass(frozen=True)
class Looked:
    """At which place the right entry came for each thing; 0: not among the first five."""

    places: list[int]
    seconds: list[float]

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
        (looked,) = await _look_up(base, loaded, stored, partial(on_plain, seed=setup.seed), [(WHOLE,)])
    rows = _rows("plain background, turned and resized", looked, {1: 95.0, 5: 99.0})
    rows.append(Row("plain background: to embed and search one picture", 1e3 * median(looked.seconds), "ms"))
    return Part(rows, {"things": len(stored), "package": version, "seed": setup.seed})


async def busy(setup: Setup) -> Part:
    """Pasted into photographs of something else; each way to cut it on the same pictures."""
    stored, version = things(setup.folder / "debian")
    stored = stored[: setup.count(len(stored), _QUICK)]
    asked = random.Random(setup.seed).sample(stored, setup.count(_ASKED, _QUICK))
    photographs = [setup.workdir / PHOTOGRAPHS[0].folder / name for name in BUSY]
    loaded = await encoders(setup.bundle)
    draw = partial(in_photograph, photographs=photographs, seed=setup.seed)
    async with knowing(setup, loaded, (thing.entry() for thing in stored)) as base:
        setup.say(f"looking up {len(asked)} things in photographs")
        looked = dict(zip(CUTS, await _look_up(base, loaded, asked, draw, list(CUTS.values())), strict=True))
    whole, rows = looked["whole frame"], []
    for name, each in looked.items():
        rows += _busy_rows(name, each, None if each is whole else whole)
    return Part(rows, {"things": len(stored), "package": version, "seed": setup.seed, "backgrounds": list(BUSY)})


async def _look_up(
    base: KnowledgeBase, loaded: Encoders, asked: Sequence[Thing], draw: partial[Picture], ways: Sequence[Sequence[Cut]]
) -> list[Looked]:
    """For each way to cut, every thing's picture looked up."""
    looked = [Looked([], []) for _ in ways]
    for thing in asked:
        picture = draw(thing)
        for cuts, each in zip(ways, looked, strict=True):
            began = perf_counter()
            vectors: list[Vector] = await embed_views(loaded.image, picture, cuts)
            hits = fused(await base.search_views(vectors, max(_DEPTHS)), "", Tuning())
            each.seconds.append(perf_counter() - began)
            ids = [hit.entry.id for hit in hits]
            each.places.append(ids.index(thing.id) + 1 if thing.id in ids else 0)
    return looked


def _rows(name: str, looked: Looked, bars: Mapping[int, float]) -> list[Row]:
    count = len(looked.places)
    return [
        at_least(f"{name}, recall@{depth} ({between(hits, count)} things)", 100 * hits / count, "%", bars[depth])
        for depth in _DEPTHS
        for hits in (looked.within(depth),)
    ]


def _busy_rows(name: str, looked: Looked, whole: Looked | None) -> list[Row]:
    """Recall beside the whole frame's on the same pictures, and what it costs; the bar is for ways to cut."""
    count, rows = len(looked.places), []
    for depth in _DEPTHS:
        hits = looked.within(depth)
        title = f"in photographs, {name}, recall@{depth} ({between(hits, count)} things)"
        value = 100 * hits / count
        if whole is None:
            rows.append(Row(title, value, "%"))
            continue
        peer = 100 * whole.within(depth) / count
        bar, ok = (">= 85", value >= 85) if depth == 5 else ("", None)
        rows.append(Row(title, value, "%", "whole frame", peer, ratio(value, peer), bar, ok))
    title, took = f"in photographs, {name}: to embed and search one picture", 1e3 * median(looked.seconds)
    if whole is None:
        return [*rows, Row(title, took, "ms")]
    peer_took = 1e3 * median(whole.seconds)
    return [*rows, Row(title, took, "ms", "whole frame", peer_took, ratio(took, peer_took))]
