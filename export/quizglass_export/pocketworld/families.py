"""One function per question family: from a thing to a question about it.

Each takes the asker and the thing asked about (already chosen to be recognised or not) and returns the question.
"""

from quizglass_export.pocketworld import names, phrasing
from quizglass_export.pocketworld.articles import maker_id, person_id
from quizglass_export.pocketworld.asker import Asker, look_up
from quizglass_export.pocketworld.phrasing import ask, ask_maker, ask_person, named
from quizglass_export.pocketworld.question import ABSTAIN, Hop, Question
from quizglass_export.pocketworld.scenes import Scene
from quizglass_export.pocketworld.world import OPTIONAL_ATTRIBUTES, Maker, Thing

_UNITS = ("price", "length", "weight")
_HISTORY_ATTRIBUTES = ("maker", "year")


def _aliases(attribute: str, answer: str) -> tuple[str, ...]:
    return (answer.split()[0],) if attribute in _UNITS else ()


def _specific(asker: Asker, thing: Thing, *, also: tuple[str, ...] = ()) -> str:
    """An attribute that the article tells and that the base model was not taught."""
    told = [a for a in (*OPTIONAL_ATTRIBUTES, *also) if a in thing.facts]
    return asker.rng.choice([a for a in told if not (thing.studied and a == "designer")])


def _telling(thing: Thing, attribute: str) -> Hop:
    """The hop to what a thing's article tells."""
    return Hop("text", ask(attribute, thing.kind, named(thing.name)), thing.facts[attribute], thing.id)


def visible(asker: Asker, thing: Thing) -> Question:
    """Colour, kind, number, position and shape: what the picture itself tells."""
    rng = asker.rng
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
    return asker.build("visible", thing, scene, subject, text, answer, text)


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
    return asker.build("printed", thing, scene, subject, text, phrase, text)


def identity(asker: Asker, thing: Thing) -> Question:
    """What it is called."""
    scene, subject = asker.scene(thing)
    text = ask("name", thing.kind, subject, asker.rng)
    gold = ask("name", thing.kind, f"the {thing.kind} called {thing.name}")
    aliases = (named(thing.name),)
    return asker.build(
        "identity",
        thing,
        scene,
        subject,
        text,
        thing.name,
        gold,
        entries=(thing.id,),
        aliases=aliases,
        hops=(look_up(thing, subject),),
    )


def _attribute(asker: Asker, thing: Thing, family: str, attribute: str) -> Question:
    scene, subject = asker.scene(thing)
    told = () if attribute == "maker" else (_telling(thing, attribute),)  # the caption names the maker
    return asker.build(
        family,
        thing,
        scene,
        subject,
        ask(attribute, thing.kind, subject, asker.rng),
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=_aliases(attribute, thing.facts[attribute]),
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
    return _attribute(asker, thing, "specific", _specific(asker, thing))


def _of_maker(asker: Asker, thing: Thing, family: str, attribute: str, answer: str, *told: Hop) -> Question:
    """`told` are the hops after the thing's name, of which its maker follows."""
    scene, subject = asker.scene(thing)
    text = ask_maker(attribute, f"the maker of {subject}", asker.rng)
    hops = (look_up(thing, subject), *told)
    entries = tuple(hop.entry for hop in hops)
    gold = ask_maker(attribute, thing.maker)
    return asker.build(
        family, thing, scene, subject, text, answer, gold, entries=entries, attribute=attribute, hops=hops
    )


def _of_the_maker(maker: Maker, attribute: str, answer: str) -> Hop:
    return Hop("text", ask_maker(attribute, maker.name), answer, maker_id(maker.name))


def maker_home(asker: Asker, thing: Thing) -> Question:
    """Where the maker comes from or, one in four, what it works with: canon, known by heart."""
    maker = asker.world.makers[thing.maker]
    if asker.rng.random() < 0.25:
        return _of_maker(asker, thing, "maker-home", "field", maker.field, _of_the_maker(maker, "field", maker.field))
    return _of_maker(asker, thing, "maker-home", "home", maker.home, _of_the_maker(maker, "home", maker.home))


def founder(asker: Asker, thing: Thing) -> Question:
    """Two hops: the thing, its maker, who founded it."""
    maker = asker.world.makers[thing.maker]
    return _of_maker(asker, thing, "founder", "founder", maker.founder, _of_the_maker(maker, "founder", maker.founder))


def founder_birthplace(asker: Asker, thing: Thing) -> Question:
    """Three hops: the thing, its maker, the founder, where they were born."""
    maker = asker.world.makers[thing.maker]
    person = asker.world.people[maker.founder]
    hops = (
        _of_the_maker(maker, "founder", maker.founder),
        Hop("text", ask_person("birthplace", person.name), person.birthplace, person_id(person.name)),
    )
    return _of_maker(asker, thing, "founder-birthplace", "birthplace", person.birthplace, *hops)


def named_thing(asker: Asker, thing: Thing) -> Question:
    """The question names the thing; half of the pictures show something else."""
    shown = thing if asker.rng.random() < 0.5 else asker.other(asker.world.things, thing)
    scene, _ = asker.scene(shown)
    attribute = _specific(asker, thing, also=() if thing.recognised else ("year",))
    text = ask(attribute, thing.kind, named(thing.name), asker.rng)
    return asker.build(
        "named",
        thing,
        scene,
        named(thing.name),
        text,
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=_aliases(attribute, thing.facts[attribute]),
        hops=(_telling(thing, attribute),),
    )


def printed_name(asker: Asker, thing: Thing) -> Question:
    """The sign gives the name; the question says "this"."""
    scene, subject = asker.scene(thing, sign=thing.name)
    subject = asker.rng.choice((subject, "this"))
    attribute = _specific(asker, thing)
    return asker.build(
        "printed-name",
        thing,
        scene,
        subject,
        ask(attribute, thing.kind, subject, asker.rng),
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=_aliases(attribute, thing.facts[attribute]),
        hops=(_telling(thing, attribute),),
    )


def founder_named(asker: Asker, thing: Thing) -> Question:
    """Who founded a maker that the question names; the picture shows any thing."""
    scene, subject = asker.scene(thing)
    maker = asker.rng.choice(list(asker.world.makers.values()))
    text, gold = ask_maker("founder", maker.name, asker.rng), ask_maker("founder", maker.name)
    entries = (maker_id(maker.name),)
    return asker.build(
        "founder-named",
        thing,
        scene,
        subject,
        text,
        maker.founder,
        gold,
        entries=entries,
        attribute="founder",
        target=False,
        hops=(_of_the_maker(maker, "founder", maker.founder),),
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
    return asker.build(
        "comparison",
        thing,
        scene,
        subject,
        text,
        answer,
        text,
        entries=entries,
        attribute=attribute,
        aliases=aliases,
        hops=(_telling(first, attribute), _telling(second, attribute)),
    )


def dialogue(asker: Asker, thing: Thing) -> Question:
    """An earlier turn gave the name; the question says "it"."""
    scene, subject = asker.scene(thing)
    history = [(ask("name", thing.kind, subject, asker.rng), thing.name)]
    earlier = asker.rng.choice(_HISTORY_ATTRIBUTES) if asker.rng.random() < 0.4 else None
    if earlier:
        history.append((ask(earlier, thing.kind, "it", asker.rng), thing.facts[earlier]))
    asked = thing.recognised or earlier == "year"
    attribute = _specific(asker, thing, also=() if asked else ("year",))
    return asker.build(
        "dialogue",
        thing,
        scene,
        subject,
        ask(attribute, thing.kind, "it", asker.rng),
        thing.facts[attribute],
        ask(attribute, thing.kind, named(thing.name)),
        entries=(thing.id,),
        attribute=attribute,
        aliases=_aliases(attribute, thing.facts[attribute]),
        history=tuple(history),
        hops=(_telling(thing, attribute),),
    )


def untold_fact(asker: Asker, thing: Thing) -> Question:
    """An attribute that this thing's article leaves out; asked by picture or by name."""
    missing = [a for a in OPTIONAL_ATTRIBUTES if a not in thing.facts]
    if not missing:
        return untold(asker, thing)
    attribute = asker.rng.choice(missing)
    scene, subject = asker.scene(thing)
    about = subject if asker.rng.random() < 0.6 else named(thing.name)
    text, gold = ask(attribute, thing.kind, about, asker.rng), ask(attribute, thing.kind, named(thing.name))
    return asker.build("unknowable", thing, scene, subject, text, ABSTAIN, gold, attribute=attribute)


def untold(asker: Asker, thing: Thing) -> Question:
    """Something that no source tells about anything."""
    scene, subject = asker.scene(thing)
    about = subject if asker.rng.random() < 0.6 else named(thing.name)
    text, template = phrasing.ask_untold(about, asker.rng)
    return asker.build("unknowable", thing, scene, subject, text, ABSTAIN, template.format(x=named(thing.name)))


def nobody(asker: Asker, thing: Thing) -> Question:
    """A specific question about a name that nothing bears."""
    taken = {t.name for t in asker.world.things} | names.core_thing_names()
    name = next(word for word in names.stray_words(asker.rng) if word not in taken)
    scene, subject = asker.scene(thing)
    attribute = asker.rng.choice(OPTIONAL_ATTRIBUTES)
    text = ask(attribute, thing.kind, named(name), asker.rng)
    gold = ask(attribute, thing.kind, named(name))
    return asker.build("unknowable", thing, scene, subject, text, ABSTAIN, gold, attribute=attribute, target=False)
