"""A thing in the picture: its name and its facts."""

from quizglass_lab.pocketworld.asker import Asker, Pointed, look_up
from quizglass_lab.pocketworld.families.hops import aliases_of, specific_attribute, telling
from quizglass_lab.pocketworld.phrasing import ask, named
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.world import Thing


def identity(asker: Asker, thing: Thing) -> Question:
    """What it is called."""
    scene, subject = asker.scene(thing)
    text = ask("name", thing.kind, subject, asker.rng)
    gold = ask("name", thing.kind, f"the {thing.kind} called {thing.name}")
    aliases = (named(thing.name),)
    return asker.build(
        "identity",
        Pointed(thing, scene, subject),
        text,
        thing.name,
        gold,
        entries=(thing.id,),
        aliases=aliases,
        hops=(look_up(thing, subject),),
    )


def _attribute(asker: Asker, thing: Thing, family: str, attribute: str) -> Question:
    scene, subject = asker.scene(thing)
    told = () if attribute == "maker" else (telling(thing, attribute),)  # the caption names the maker
    return asker.build(
        family,
        Pointed(thing, scene, subject),
        ask(attribute, thing.kind, subject, asker.rng),
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=aliases_of(attribute, thing.facts[attribute]),
        hops=(look_up(thing, subject), *told),
    )


def fact_year(asker: Asker, thing: Thing) -> Question:
    """When it was first made."""
    return _attribute(asker, thing, "fact", "year")


def fact_maker(asker: Asker, thing: Thing) -> Question:
    """Who made it."""
    return _attribute(asker, thing, "fact", "maker")


def fact_designer(asker: Asker, thing: Thing) -> Question:
    """Who designed it; for studied things."""
    return _attribute(asker, thing, "fact", "designer")


def specific(asker: Asker, thing: Thing) -> Question:
    """Price, length, weight, place or designer: only the article tells."""
    return _attribute(asker, thing, "specific", specific_attribute(asker, thing))
