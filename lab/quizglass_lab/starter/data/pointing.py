"""Words of a quiz that point at one thing of a scene, of either format."""

from __future__ import annotations

import random
from collections.abc import Sequence

from quizglass_lab.pocketworld.phrasing import SLOT_WORDS
from quizglass_lab.pocketworld.referring import PLACES, alone_at, choose, references
from quizglass_lab.pocketworld.scenes import Placed, Scene

_SINGLE = ("this {}", "this {}", "the {} in the picture")
_BY_KIND = 0.15


def subject(placed: Placed, scene: Scene, rng: random.Random, *, without: Sequence[str] = ()) -> str | None:
    """Words for one thing of a scene; None where nothing tells it from the others.

    Args:
        placed: the thing.
        scene: what the picture shows.
        rng: chooses among what could be said.
        without: parts of a reference that must not be said, such as "colour" (`referring.references`).
    """
    kind = placed.thing.kind
    if len(scene.things) == 1:
        return rng.choice(_SINGLE).format(kind)
    if scene.free:
        options = references(placed.thing, scene, without=without)
        return f"the {choose(options, rng).words}" if options else None
    if alone(placed, scene) and rng.random() < _BY_KIND:
        return f"the {kind}"
    return f"the {kind} {SLOT_WORDS[placed.slot]}"


def alone(placed: Placed, scene: Scene) -> bool:
    """Whether it is the only thing of its kind."""
    return sum(other.thing.kind == placed.thing.kind for other in scene.things) == 1


def place_of(placed: Placed, scene: Scene, rng: random.Random) -> str | None:
    """Words for a place of the picture where it alone is, e.g. "on the left"; None if there is none."""
    if not scene.free:
        return SLOT_WORDS[placed.slot]
    places = [words for place, words in PLACES.items() if alone_at(place, scene) == placed.thing]
    return rng.choice(places) if places else None
