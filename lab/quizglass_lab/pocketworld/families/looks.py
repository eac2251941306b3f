"""What the picture itself tells: looks, number, place and printed words."""

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.asker import Asker, Pointed
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.words import TEXT_DOMAIN
from quizglass_lab.pocketworld.world import Thing


def visible(asker: Asker, thing: Thing) -> Question:
    """Colour, kind, number, position and shape: what the picture itself tells.

    In format 2 number and position are families of their own; see `places`.
    """
    rng = asker.rng
    if asker.format == 2:
        return _look(asker, thing)
    what = rng.choices(("colour", "kind", "count", "position", "shape"), (36, 14, 16, 20, 14))[0]
    count = {"kind": 1, "count": rng.randint(1, 3), "position": rng.choice((2, 2, 3))}.get(what)
    scene, subject = asker.scene(thing, count=count)
    if what == "colour":
        text, answer = phrasing.ask_colour(subject, rng), thing.look.body
    elif what == "kind":
        text, answer = rng.choice(phrasing.KIND), thing.kind
    elif what == "count":
        text, answer = rng.choice(phrasing.COUNT), phrasing.NUMBER_WORDS[len(scene.things)]
    elif what == "shape":
        text, answer = phrasing.ask_shape(thing.kind, subject, rng), thing.look.shape
    else:
        text, answer = _position(asker, thing, scene)
    return asker.build("visible", Pointed(thing, scene, subject), text, answer, text)


def _look(asker: Asker, thing: Thing) -> Question:
    """Colour, kind or shape of any thing in a free scene."""
    rng = asker.rng
    what = rng.choices(("colour", "kind", "shape"), (5, 2, 3))[0]
    without = ("colour",) if what == "colour" else ()
    scene, subject = asker.scene(thing, count=1 if what == "kind" else None, without=without)
    if what == "colour":
        text, answer = phrasing.ask_colour(subject, rng), thing.look.body
    elif what == "kind":
        text, answer = rng.choice(phrasing.KIND), thing.kind
    else:
        text, answer = phrasing.ask_shape(thing.kind, subject, rng), thing.look.shape
    return asker.build("visible", Pointed(thing, scene, subject), text, answer, text)


def _position(asker: Asker, thing: Thing, scene: Scene) -> tuple[str, str]:
    """Where the thing is or, always where its kind stands there twice, what is in its place; and the answer."""
    slot = next(placed.slot for placed in scene.things if placed.thing.id == thing.id)
    alone = sum(placed.thing.kind == thing.kind for placed in scene.things) == 1
    if alone and asker.rng.random() < 0.5:
        return phrasing.ask_where(thing.kind, asker.rng), slot
    return phrasing.ask_at(slot, asker.rng), thing.kind


def printed(asker: Asker, thing: Thing) -> Question:
    """What the sign says."""
    phrase = phrasing.sign_phrase(asker.rng)
    scene, subject = asker.scene(thing, sign=phrase)
    text = asker.rng.choice(phrasing.PRINTED)
    return asker.build("printed", Pointed(thing, scene, subject), text, phrase, text, domain=TEXT_DOMAIN)
