"""What the things of a scene are called, a few words each, and what is asked for that it does not show."""

from __future__ import annotations

import random
from collections.abc import Iterator

from quizglass_lab.pocketworld.referring import (
    PLACES,
    RELATIONS,
    SIZES,
    Reference,
    choose,
    in_five_words,
    look_at,
    references,
)
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.world import BODY_COLOURS, COLOURS, KINDS, SHAPES
from quizglass_server.steps.language.phrases import ANYTHING

ANY = (ANYTHING, "thing")
"""What every thing is."""
_ABSENT_SHARE, _ONE_SHARE = 0.4, 0.6
NO_THINGS = ("founder", "higher price")
"""What questions say "the" of and no picture shows."""

Phrase = tuple[str, frozenset[int]]
"""A phrase, and the numbers of the things that it names."""


def phrases(scene: Scene, count: int, rng: random.Random) -> list[Phrase]:
    """`count` phrases: some name one thing, some several, and some what the scene does not show."""
    number = rng.randrange(len(scene.things))
    alone, several = pointing_at(scene, number, rng), list(groups(scene, rng))
    chosen: list[Phrase] = []
    while len(chosen) < count:
        if rng.random() < _ABSENT_SHARE:
            chosen.append(_absent(scene, rng))
        elif alone and rng.random() < _ONE_SHARE:
            chosen.append((rng.choice(alone), frozenset([number])))
        else:
            chosen.append(rng.choice(several))
    return chosen


def pointing_at(scene: Scene, number: int, rng: random.Random) -> list[str]:
    """Phrases that tell a thing from all others, as questions and descriptions of objects do; none for some things."""
    thing = scene.things[number].thing
    options = references(thing, scene)
    if not options:
        return []
    said = [choose(options, rng) for _ in range(3)]
    return [*(one.words for one in said), *(in_five_words(thing, one) for one in said)]


def groups(scene: Scene, rng: random.Random) -> Iterator[Phrase]:
    """For each thing, what it and all others like it are called; no colour that is another's pattern, too."""
    seen = look_at(scene)
    for placed in scene.things:
        look = placed.thing.look
        yield look.kind, _those(scene, kind=look.kind)
        coloured = _those(scene, kind=look.kind, body=look.body)
        if len(Reference(look.kind, colour=look.body).fitting(seen)) == len(coloured):
            yield f"{look.body} {look.kind}", coloured
        yield f"{look.shape} {look.kind}", _those(scene, kind=look.kind, shape=look.shape)
        yield f"{look.body} {rng.choice(ANY)}", _those(scene, body=look.body)
    yield rng.choice(ANY), frozenset(range(len(scene.things)))


def _those(scene: Scene, **wanted: str) -> frozenset[int]:
    """Numbers of the things whose looks have these values."""
    looks = (placed.thing.look for placed in scene.things)
    return frozenset(
        number for number, look in enumerate(looks) if all(getattr(look, key) == value for key, value in wanted.items())
    )


def _absent(scene: Scene, rng: random.Random) -> Phrase:
    """Something that is not there: no thing at all, another kind, colour or shape, or a place where none is."""
    while True:
        draw = rng.random()
        look = rng.choice(scene.things).thing.look
        if draw < 0.15:
            return rng.choice(NO_THINGS), frozenset()
        kind = rng.choice(KINDS) if draw < 0.4 else look.kind
        if draw < 0.5:
            shape = rng.choice(SHAPES[kind])
            phrase, those = f"{shape} {kind}", _those(scene, kind=kind, shape=shape)
        else:
            reference = _any_reference(kind, rng)
            phrase, those = reference.words, frozenset(range(len(reference.fitting(look_at(scene)))))
        if not those:
            return phrase, those


def _any_reference(kind: str, rng: random.Random) -> Reference:
    """A reference that need not fit anything."""
    colour = rng.choice((*BODY_COLOURS, "", "", "", ""))
    way = rng.random()
    if way < 0.4:
        return Reference(kind, colour=rng.choice(BODY_COLOURS))
    if way < 0.7:
        return Reference(kind, colour=colour, place=rng.choice(list(PLACES)))
    return Reference(kind, colour=colour, relation=rng.choice(list(RELATIONS)), anchor=rng.choice(KINDS))


def vocabulary() -> list[str]:
    """Words that phrases are made of; other words are read by their letters."""
    shapes = (shape for kind in KINDS for shape in SHAPES[kind])
    said = " ".join((*ANY, *PLACES.values(), *RELATIONS.values(), *NO_THINGS))
    return sorted({*KINDS, *COLOURS, *SIZES, *shapes, *said.split()})
