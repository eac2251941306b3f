"""Several things in one picture: how many there are, and where they are. Format 2."""

from dataclasses import replace

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.asker import Asker, Pointed
from quizglass_lab.pocketworld.layout import MOST_THINGS, free_scene
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.referring import PLACES, RELATIONS, alone_at, alone_by, look_at, words_for
from quizglass_lab.pocketworld.words import NUMBER_DOMAIN
from quizglass_lab.pocketworld.world import KINDS, Thing

_SIDE = {"left": (0.0, 0.36), "middle": (0.43, 0.57), "right": (0.64, 1.0)}
_HEIGHT = {"top": (0.0, 0.4), "bottom": (0.6, 1.0)}
_SCENES = 8
"""Tried until one has an answer beyond doubt."""


def counting(asker: Asker, thing: Thing) -> Question:
    """How many things there are or, more often, how many of one kind; seldom none."""
    rng = asker.rng
    count = rng.randint(1, MOST_THINGS)
    same = rng.randint(0, min(3, count - 1))
    scene = free_scene(asker.company(count, thing, same=same), rng)
    kinds = [placed.thing.kind for placed in scene.things]
    if rng.random() < 0.35:
        text, objects, number = rng.choice(phrasing.COUNT), tuple(dict.fromkeys(kinds)), len(kinds)
    else:
        absent = [kind for kind in KINDS if kind not in kinds]
        kind = rng.choice(absent) if rng.random() < 0.08 else thing.kind
        text = rng.choice(phrasing.COUNT_KIND).format(k=phrasing.plural(kind))
        objects, number = tuple({kind} & set(kinds)), kinds.count(kind)
    answer, aliases = phrasing.NUMBER_WORDS[number], (str(number), *(("none", "zero") if number == 0 else ()))
    question = asker.build(
        "counting",
        Pointed(thing, scene, words_for(thing, scene)),
        text,
        answer,
        text,
        aliases=aliases,
        domain=NUMBER_DOMAIN,
    )
    return replace(question, objects=objects, meant="")


def position(asker: Asker, thing: Thing) -> Question | None:
    """On which side or at which height a thing is, or what is in a place; None where the picture leaves a doubt."""
    return _what_is_there(asker, thing) if asker.rng.random() < 0.4 else _where_is_it(asker, thing)


def _where_is_it(asker: Asker, thing: Thing) -> Question | None:
    rng = asker.rng
    for _ in range(_SCENES):
        scene, subject = asker.scene(thing, count=rng.randint(2, 5), without=("place", "relation"))
        one = next(one for one in look_at(scene) if one.thing.id == thing.id)
        asked, ranges, at = rng.choice(((phrasing.ask_side, _SIDE, one.x), (phrasing.ask_height, _HEIGHT, one.y)))
        answer = next((place for place, (low, high) in ranges.items() if low <= at <= high), None)
        if answer is not None:
            text = asked(subject, rng)
            return asker.build(
                "position", Pointed(thing, scene, subject), text, answer, text, aliases=(PLACES[answer],)
            )
    return None


def _what_is_there(asker: Asker, thing: Thing) -> Question | None:
    """What kind of thing is at a place of the picture, or beside, above, … another; the thing asked about is that."""
    rng = asker.rng
    for _ in range(_SCENES):
        scene, _ = asker.scene(thing, count=rng.randint(2, 4))
        places = [words for place, words in PLACES.items() if alone_at(place, scene) == thing]
        kinds = [placed.thing.kind for placed in scene.things]
        anchors = [placed.thing for placed in scene.things if kinds.count(placed.thing.kind) == 1]
        places += [
            f"{words} {anchor.kind}"
            for relation, words in RELATIONS.items()
            for anchor in anchors
            if anchor.id != thing.id and alone_by(relation, anchor, scene) == thing
        ]
        if places:
            text, subject = phrasing.ask_kind_of(rng.choice(places), rng), words_for(thing, scene)
            return asker.build("position", Pointed(thing, scene, subject), text, thing.kind, text)
    return None


def neighbour(asker: Asker, thing: Thing) -> Question:
    """The colour of a thing that is identified by its neighbour."""
    scene, subject = asker.scene(thing, count=asker.rng.randint(2, 5), by=("relation",), without=("colour",))
    text = phrasing.ask_colour(subject, asker.rng)
    return asker.build("neighbour", Pointed(thing, scene, subject), text, thing.look.body, text)
