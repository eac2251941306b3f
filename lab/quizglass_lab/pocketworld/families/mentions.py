"""Ways to refer to the thing asked about, and what they give away: its name, or some of its facts.

The words of a question are the same whether a sign, an earlier turn or nothing but the picture tells the name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from string import capwords

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.asker import Asker
from quizglass_lab.pocketworld.families.walks import Path
from quizglass_lab.pocketworld.phrasing import ask, ask_colour, named
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.world import Thing

_SMALL_TALK = ("colour", "maker", "year", "price", "weight")
"""What an earlier turn may have been about."""


@dataclass(frozen=True)
class Mention:
    """How a question refers to its thing.

    `words` stand in the question, `pictured` point at the thing in the picture (or name it). `tells` are the
    attributes, "name" among them, that the question, printed words or earlier turns give.
    """

    words: str
    scene: Scene
    pictured: str
    tells: frozenset[str] = frozenset()
    history: tuple[tuple[str, str], ...] = ()


def by_sight(asker: Asker, thing: Thing, path: Path) -> Mention:
    """The picture alone."""
    scene, subject = asker.scene(thing)
    return Mention(subject, scene, subject)


def by_name(asker: Asker, thing: Thing, path: Path) -> Mention:
    """The question names it; half of the pictures show something else."""
    shown = thing if asker.rng.random() < 0.5 else asker.other(asker.world.things, thing)
    scene, _ = asker.scene(shown)
    return Mention(named(thing.name), scene, named(thing.name), frozenset({"name"}))


def by_sign(asker: Asker, thing: Thing, path: Path) -> Mention:
    """A sign, cover or label gives its name."""
    return _printed(asker, thing, "name", thing.name)


def by_brand(asker: Asker, thing: Thing, path: Path) -> Mention:
    """A sign gives the name of its maker."""
    return _printed(asker, thing, "maker", thing.maker)


def by_price_tag(asker: Asker, thing: Thing, path: Path) -> Mention:
    """A sign gives its price, where it has one."""
    price = thing.facts.get("price")
    return _printed(asker, thing, "price", price) if price else by_sight(asker, thing, path)


def _printed(asker: Asker, thing: Thing, attribute: str, words: str) -> Mention:
    scene, subject = asker.scene(thing, sign=capwords(words))
    return Mention(subject, scene, subject, frozenset({attribute}))


def by_other_sign(asker: Asker, thing: Thing, path: Path) -> Mention:
    """The picture shows another thing, and a sign that names the one the question is about."""
    scene, _ = asker.scene(asker.other(asker.world.things, thing, kinds=True), sign=thing.name)
    return Mention(f"the {thing.kind} named on the sign", scene, named(thing.name), frozenset({"name"}))


def by_wrong_sign(asker: Asker, thing: Thing, path: Path) -> Mention:
    """A sign names another thing, of a kind that is not in the picture; it is known by sight or not at all."""
    sign = (
        asker.other(asker.world.things, thing, kinds=True).name if thing.recognised else phrasing.sign_phrase(asker.rng)
    )
    scene, subject = asker.scene(thing, sign=sign)
    return Mention(subject, scene, subject)


def by_talk(asker: Asker, thing: Thing, path: Path) -> Mention:
    """One or two earlier turns were about it: they tell its name, what is asked now, or something else."""
    scene, subject = asker.scene(thing, without=("colour",))
    tells = [] if asker.rng.random() < 0.4 else ["name"]
    others = [a for a in _SMALL_TALK if a == "colour" or (a in thing.facts and a != path[0])]
    if path[0] in thing.facts and asker.rng.random() < 0.4:
        tells.append(path[0])
    elif not tells or asker.rng.random() < 0.5:
        tells.append(asker.rng.choice(others))
    history = tuple(_turn(asker, thing, told, subject if i == 0 else "it") for i, told in enumerate(tells))
    return Mention("it", scene, subject, frozenset(tells), history)


def by_sight_after_talk(asker: Asker, thing: Thing, path: Path) -> Mention:
    """An earlier turn was about another thing, which the question named; now it is about the one in the picture."""
    rng, other = asker.rng, asker.other(asker.world.things, thing)
    told = [a for a in ("year", "price", "maker") if a in other.facts and other.facts[a] != thing.facts.get(a)]
    mention = by_sight(asker, thing, path)
    if not told:  # a world of one thing
        return mention
    attribute = path[0] if path[0] in told and rng.random() < 0.4 else rng.choice(told)
    return replace(mention, history=((ask(attribute, other.kind, named(other.name), rng), other.facts[attribute]),))


def _turn(asker: Asker, thing: Thing, attribute: str, subject: str) -> tuple[str, str]:
    if attribute == "colour":
        return ask_colour(subject, asker.rng), thing.look.body
    answer = thing.name if attribute == "name" else thing.facts[attribute]
    return ask(attribute, thing.kind, subject, asker.rng), answer


WAYS: dict[str, Callable[[Asker, Thing, Path], Mention]] = {
    "sight": by_sight,
    "name": by_name,
    "sign": by_sign,
    "other-sign": by_other_sign,
    "brand": by_brand,
    "tag": by_price_tag,
    "wrong-sign": by_wrong_sign,
    "talk": by_talk,
    "after-talk": by_sight_after_talk,
}
"""Every way by its name in the tables of recipes."""
