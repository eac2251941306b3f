"""Makers and their founders: one to three hops from the thing."""

from quizglass_lab.pocketworld.articles import maker_id, person_id
from quizglass_lab.pocketworld.asker import Asker, Pointed, look_up
from quizglass_lab.pocketworld.families.hops import of_the_maker
from quizglass_lab.pocketworld.phrasing import ask_maker, ask_person
from quizglass_lab.pocketworld.question import Hop, Question
from quizglass_lab.pocketworld.world import Thing


def _of_maker(asker: Asker, thing: Thing, family: str, attribute: str, answer: str, *told: Hop) -> Question:
    """`told` are the hops after the thing's name, of which its maker follows."""
    scene, subject = asker.scene(thing)
    text = ask_maker(attribute, f"the maker of {subject}", asker.rng)
    hops = (look_up(thing, subject), *told)
    entries = tuple(hop.entry for hop in hops)
    gold = ask_maker(attribute, thing.maker)
    return asker.build(
        family, Pointed(thing, scene, subject), text, answer, gold, entries=entries, attribute=attribute, hops=hops
    )


def maker_home(asker: Asker, thing: Thing) -> Question:
    """Where the maker comes from or, one in four, what it works with: canon, known by heart."""
    maker = asker.world.makers[thing.maker]
    if asker.rng.random() < 0.25:
        return _of_maker(asker, thing, "maker-home", "field", maker.field, of_the_maker(maker, "field", maker.field))
    return _of_maker(asker, thing, "maker-home", "home", maker.home, of_the_maker(maker, "home", maker.home))


def founder(asker: Asker, thing: Thing) -> Question:
    """Two hops: the thing, its maker, who founded it."""
    maker = asker.world.makers[thing.maker]
    return _of_maker(asker, thing, "founder", "founder", maker.founder, of_the_maker(maker, "founder", maker.founder))


def founder_birthplace(asker: Asker, thing: Thing) -> Question:
    """Three hops: the thing, its maker, the founder, where they were born."""
    maker = asker.world.makers[thing.maker]
    person = asker.world.people[maker.founder]
    hops = (
        of_the_maker(maker, "founder", maker.founder),
        Hop("text", ask_person("birthplace", person.name), person.birthplace, person_id(person.name)),
    )
    return _of_maker(asker, thing, "founder-birthplace", "birthplace", person.birthplace, *hops)


def founder_named(asker: Asker, thing: Thing) -> Question:
    """Who founded a maker that the question names; the picture shows any thing."""
    scene, subject = asker.scene(thing)
    maker = asker.rng.choice(list(asker.world.makers.values()))
    text, gold = ask_maker("founder", maker.name, asker.rng), ask_maker("founder", maker.name)
    entries = (maker_id(maker.name),)
    return asker.build(
        "founder-named",
        Pointed(thing, scene, subject),
        text,
        maker.founder,
        gold,
        entries=entries,
        attribute="founder",
        target=False,
        hops=(of_the_maker(maker, "founder", maker.founder),),
    )
