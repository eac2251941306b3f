"""What the picture does not show: things that are not there, false premises, unreadable signs. Format 2.

Each has its answerable twin in the same words: a reference by colour that is true, a kind that is there, a clear sign.
"""

from dataclasses import replace

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.asker import Asker, Pointed
from quizglass_lab.pocketworld.phrasing import ask
from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.referring import PLACES, fitting, look_at, words_for
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.words import TEXT_DOMAIN
from quizglass_lab.pocketworld.world import BODY_COLOURS, KINDS, Thing

_ASKED = ("name", "name", "year", "maker", "price", "length", "weight", "place", "designer")
_ALIKE = ({"red", "orange", "brown", "yellow"}, {"green", "teal", "blue"}, {"purple", "pink", "red"})
"""Colours that are easily confused."""
_OPPOSITE = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}


def presence(asker: Asker, thing: Thing) -> Question | None:
    """Whether there is a thing of a kind, or of a kind and colour: yes and no in equal parts."""
    rng = asker.rng
    scene, _ = asker.scene(thing)
    there, coloured = rng.random() < 0.5, rng.random() < 0.5
    words = _there(thing, coloured) if there else _not_there(asker, thing, scene, coloured)
    if words is None:
        return None
    text = phrasing.ask_is_there(words, rng)
    question = asker.build(
        "presence", Pointed(thing, scene, words_for(thing, scene)), text, "yes" if there else "no", text
    )
    objects = tuple({words.split()[-1]} & {placed.thing.kind for placed in scene.things})
    return replace(question, objects=objects, meant=words if len(fitting(words, scene)) == 1 else "")


def _there(thing: Thing, coloured: bool) -> str:
    return f"{thing.look.body} {thing.kind}" if coloured else thing.kind


def _not_there(asker: Asker, thing: Thing, scene: Scene, coloured: bool) -> str | None:
    if coloured:
        colour = _false_colour(asker, thing, scene)
        return f"{colour} {thing.kind}" if colour else None
    return _absent_kind(asker, scene)


def _absent_kind(asker: Asker, scene: Scene) -> str | None:
    kinds = {placed.thing.kind for placed in scene.things}
    return asker.rng.choice([kind for kind in KINDS if kind not in kinds])


def _false_colour(asker: Asker, thing: Thing, scene: Scene) -> str | None:
    """A colour that no thing of the kind has, nor one like it."""
    looks = [placed.thing.look for placed in scene.things if placed.thing.kind == thing.kind]
    near = {colour for look in looks for colour in (look.body, look.accent)}
    near |= {colour for alike in _ALIKE for look in looks if look.body in alike for colour in alike}
    free = [colour for colour in BODY_COLOURS if colour not in near]
    return asker.rng.choice(free) if free else None


def absent(asker: Asker, thing: Thing) -> Question | None:
    """A fact, the name or the colour of a thing of a kind that the picture does not show."""
    scene, _ = asker.scene(thing)
    kind = _absent_kind(asker, scene)
    return _unanswerable(asker, thing, scene, "absent", kind, f"the {kind}") if kind else None


def false_premise(asker: Asker, thing: Thing) -> Question | None:
    """A thing is there, and is not as the question says: "the red boat" and it is blue, or it is on the other side."""
    rng = asker.rng
    scene, _ = asker.scene(thing)
    if rng.random() < 0.2:
        words = _false_place(thing, scene)
    else:
        colour = _false_colour(asker, thing, scene)
        words = f"the {colour} {thing.kind}" if colour else None
    if words is None:
        return None
    question = _unanswerable(asker, thing, scene, "false-premise", thing.kind, words)
    return replace(question, objects=(thing.kind,))


def _false_place(thing: Thing, scene: Scene) -> str | None:
    """The other side than that where the only thing of the kind clearly is."""
    seen = [one for one in look_at(scene) if one.thing.kind == thing.kind]
    if len(seen) > 1 or len(scene.things) == 1:
        return None
    x, y = seen[0].x, seen[0].y
    sides = [("left", x < 0.3), ("right", x > 0.7), ("top", y < 0.3), ("bottom", y > 0.7)]
    true = next((place for place, is_there in sides if is_there), None)
    return f"the {thing.kind} {PLACES[_OPPOSITE[true]]}" if true else None


def _unanswerable(asker: Asker, thing: Thing, scene: Scene, family: str, kind: str, words: str) -> Question:
    attribute = asker.rng.choice(_ASKED)
    if family == "absent" and asker.rng.random() < 0.25:
        text, attribute = phrasing.ask_colour(words, asker.rng), "colour"
    else:
        text = ask(attribute, kind, words, asker.rng)
    question = asker.build(family, Pointed(thing, scene, words), text, ABSTAIN, text, attribute=attribute, target=False)
    return replace(
        question, image_query=ask("name", kind, words), image_answer=ABSTAIN, objects=(), meant="", group=None
    )


def unreadable(asker: Asker, thing: Thing) -> Question:
    """What a sign says that is too blurred, too dark or too small to read."""
    scene, subject = asker.scene(thing, sign=phrasing.sign_phrase(asker.rng), spoiled=True)
    text = asker.rng.choice(phrasing.PRINTED)
    question = asker.build("unreadable", Pointed(thing, scene, subject), text, ABSTAIN, text, domain=TEXT_DOMAIN)
    return replace(question, group=None)
