"""Ways from a thing to what is asked: over its maker, people and towns, one entry after the other.

A path names the attributes on the way, e.g. ("maker", "founder", "birthplace", "river").
"""

import random
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from quizglass_lab.pocketworld.articles import maker_id, person_id, town_id
from quizglass_lab.pocketworld.phrasing import ask, ask_maker, ask_person, ask_town, named, noun
from quizglass_lab.pocketworld.world import Thing, World, taught

Path = tuple[str, ...]

NAME: Path = ("name",)
_LEADS_TO = {
    "maker": "maker",
    "founder": "person",
    "designer": "person",
    "home": "town",
    "birthplace": "town",
    "place": "town",
}
_CANON = {"home", "field"}
"""What is known of every maker by heart."""


@dataclass(frozen=True)
class Leg:
    """One step: the `attribute` of an entity, told by its `entry`. `about`: thing, maker, person or town."""

    about: str
    kind: str
    name: str
    entry: str
    attribute: str
    value: str

    def query(self, rng: random.Random | None = None) -> str:
        """The question for it, which stands alone; canonical without `rng`."""
        return _ask(self.about, self.attribute, self.kind, self.subject, rng)

    @property
    def subject(self) -> str:
        """How a text calls the entity by its name."""
        return named(self.name) if self.about == "thing" else self.name


def _ask(about: str, attribute: str, kind: str, subject: str, rng: random.Random | None) -> str:
    if about == "thing":
        return ask(attribute, kind, subject, rng)
    return {"maker": ask_maker, "person": ask_person, "town": ask_town}[about](attribute, subject, rng)


def walk(world: World, thing: Thing, path: Path) -> tuple[Leg, ...] | None:
    """The steps of a path from a thing; None where an entry on the way does not tell the next one."""
    about, name, legs = "thing", thing.name, []
    for attribute in path:
        told = _told(world, thing, about, name)
        if attribute not in told:
            return None
        legs.append(Leg(about, thing.kind, name, _entry(thing, about, name), attribute, told[attribute]))
        about, name = _LEADS_TO.get(attribute, ""), told[attribute]
    return tuple(legs)


def _entry(thing: Thing, about: str, name: str) -> str:
    return thing.id if about == "thing" else {"maker": maker_id, "person": person_id, "town": town_id}[about](name)


def _told(world: World, thing: Thing, about: str, name: str) -> dict[str, str]:
    if about == "thing":
        return {"name": thing.name, **thing.facts}
    if about == "maker":
        maker = world.makers[name]
        return {"home": maker.home, "field": maker.field, "founder": maker.founder}
    if about == "person":
        person = world.people[name]
        return {"birthplace": person.birthplace, "birthyear": person.birthyear}
    town = world.towns.get(name)
    return {"river": town.river, "craft": town.craft, "people": town.people} if town else {}


def phrase(path: Path, kind: str, subject: str, rng: random.Random | None = None, *, about: str = "thing") -> str:
    """The question for the end of a path, e.g. "Where was the founder of the maker of this car born?".

    `about` says what the subject is; the nouns on the way are always worded alike.
    """
    for attribute, _ in pairwise(path):
        subject, about = noun(attribute, kind, subject), _LEADS_TO[attribute]
    return _ask(about, path[-1], kind, subject, rng)


def by_heart(thing: Thing, leg: Leg, *, looked_up: bool) -> bool:
    """Whether the base knows what a step tells; `looked_up`: it has the caption, which names the maker."""
    if leg.about == "thing":
        return taught(thing, leg.attribute) or (looked_up and leg.attribute in ("maker", "name"))
    return leg.attribute in _CANON


def group_of(searches: Collection[str]) -> str:
    """The planning group of a set of searches: none, image, text or both."""
    image, text = "image" in searches, "text" in searches
    return ("none", "text", "image", "both")[2 * image + text]
