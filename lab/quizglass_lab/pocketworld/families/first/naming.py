"""Things that the question, a sign or an earlier turn names."""

from quizglass_lab.pocketworld import phrasing, workings
from quizglass_lab.pocketworld.asker import Asker, Pointed
from quizglass_lab.pocketworld.families.hops import aliases_of, specific_attribute, telling
from quizglass_lab.pocketworld.phrasing import ask, named
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.world import Thing

_HISTORY_ATTRIBUTES = ("maker", "year")


def named_thing(asker: Asker, thing: Thing) -> Question:
    """The question names the thing; half of the pictures show something else."""
    shown = thing if asker.rng.random() < 0.5 else asker.other(asker.world.things, thing)
    scene, _ = asker.scene(shown)
    attribute = specific_attribute(asker, thing, also=() if thing.recognised else ("year",))
    text = ask(attribute, thing.kind, named(thing.name), asker.rng)
    return asker.build(
        "named",
        Pointed(thing, scene, named(thing.name)),
        text,
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=aliases_of(attribute, thing.facts[attribute]),
        hops=(telling(thing, attribute),),
    )


def printed_name(asker: Asker, thing: Thing) -> Question:
    """The sign gives the name; the question says "this"."""
    scene, subject = asker.scene(thing, sign=thing.name)
    subject = asker.rng.choice((subject, "this"))
    attribute = specific_attribute(asker, thing)
    return asker.build(
        "printed-name",
        Pointed(thing, scene, subject),
        ask(attribute, thing.kind, subject, asker.rng),
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=aliases_of(attribute, thing.facts[attribute]),
        hops=(telling(thing, attribute),),
    )


def comparison(asker: Asker, thing: Thing) -> Question:
    """Which of two named things is older, newer, cheaper or dearer; years only where none is known by heart."""
    rng = asker.rng
    candidates = [thing] + [asker.other(asker.world.things, thing) for _ in range(24)]
    pairs = [
        (other, attribute)
        for other in candidates[1:]
        for attribute in ("price", "year")
        if all(attribute in t.facts for t in (thing, other))
        and thing.facts[attribute] != other.facts[attribute]
        and not (attribute == "year" and (thing.recognised or other.recognised))
    ]
    if not pairs:  # this thing has no price, or the world is tiny
        return named_thing(asker, thing)
    other, attribute = rng.choice(pairs)
    more = rng.random() < 0.5
    low, high = sorted((thing, other), key=lambda t: int(t.facts[attribute].split()[0]))
    first, second = rng.sample((thing, other), 2)
    text = phrasing.ask_which(attribute, more, named(first.name), named(second.name), rng)
    answer = (high if more else low).name
    scene, subject = asker.scene(thing)
    entries = (first.id, second.id)
    aliases = (named(answer),)
    numbers = [(side.name, int(side.facts[attribute].split()[0])) for side in (first, second)]
    return asker.build(
        "comparison",
        Pointed(thing, scene, subject),
        text,
        answer,
        text,
        entries=entries,
        attribute=attribute,
        aliases=aliases,
        hops=(telling(first, attribute), telling(second, attribute)),
        working=workings.choice(numbers, more=more),
    )


def dialogue(asker: Asker, thing: Thing) -> Question:
    """An earlier turn gave the name; the question says "it"."""
    scene, subject = asker.scene(thing)
    history = [(ask("name", thing.kind, subject, asker.rng), thing.name)]
    earlier = asker.rng.choice(_HISTORY_ATTRIBUTES) if asker.rng.random() < 0.4 else None
    if earlier:
        history.append((ask(earlier, thing.kind, "it", asker.rng), thing.facts[earlier]))
    asked = thing.recognised or earlier == "year"
    attribute = specific_attribute(asker, thing, also=() if asked else ("year",))
    return asker.build(
        "dialogue",
        Pointed(thing, scene, subject),
        ask(attribute, thing.kind, "it", asker.rng),
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=aliases_of(attribute, thing.facts[attribute]),
        history=tuple(history),
        hops=(telling(thing, attribute),),
    )
