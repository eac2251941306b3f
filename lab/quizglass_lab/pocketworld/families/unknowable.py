"""Questions that only "I don't know" answers."""

from quizglass_lab.pocketworld import names, phrasing
from quizglass_lab.pocketworld.asker import Asker, Pointed
from quizglass_lab.pocketworld.phrasing import ask, named
from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.world import OPTIONAL_ATTRIBUTES, Thing


def untold_fact(asker: Asker, thing: Thing) -> Question:
    """An attribute that this thing's article leaves out; asked by picture or by name."""
    missing = [a for a in OPTIONAL_ATTRIBUTES if a not in thing.facts]
    if not missing:
        return untold(asker, thing)
    attribute = asker.rng.choice(missing)
    scene, subject = asker.scene(thing)
    about = subject if asker.rng.random() < 0.6 else named(thing.name)
    text, gold = ask(attribute, thing.kind, about, asker.rng), ask(attribute, thing.kind, named(thing.name))
    return asker.build("unknowable", Pointed(thing, scene, subject), text, ABSTAIN, gold, attribute=attribute)


def untold(asker: Asker, thing: Thing) -> Question:
    """Something that no source tells about anything."""
    scene, subject = asker.scene(thing)
    about = subject if asker.rng.random() < 0.6 else named(thing.name)
    text, template = phrasing.ask_untold(about, asker.rng)
    return asker.build(
        "unknowable", Pointed(thing, scene, subject), text, ABSTAIN, template.format(x=named(thing.name))
    )


def nobody(asker: Asker, thing: Thing) -> Question:
    """A specific question about a name that nothing bears."""
    taken = {t.name for t in asker.world.things} | names.core_thing_names()
    name = next(word for word in names.stray_words(asker.rng) if word not in taken)
    scene, subject = asker.scene(thing)
    attribute = asker.rng.choice(OPTIONAL_ATTRIBUTES)
    text = ask(attribute, thing.kind, named(name), asker.rng)
    gold = ask(attribute, thing.kind, named(name))
    return asker.build(
        "unknowable", Pointed(thing, scene, subject), text, ABSTAIN, gold, attribute=attribute, target=False
    )


def stranger(asker: Asker, thing: Thing) -> Question | None:
    """A fact or the name of a thing that the picture shows and no entry tells of; asked by picture or by name."""
    if not asker.world.strangers:
        return None
    thing = asker.rng.choice(asker.world.strangers)
    scene, subject = asker.scene(thing)
    attribute = asker.rng.choice(("name", "year", "maker", *OPTIONAL_ATTRIBUTES))
    about = named(thing.name) if attribute != "name" and asker.rng.random() < 0.3 else subject
    text, gold = ask(attribute, thing.kind, about, asker.rng), ask(attribute, thing.kind, named(thing.name))
    return asker.build("unknowable", Pointed(thing, scene, subject), text, ABSTAIN, gold, attribute=attribute)
