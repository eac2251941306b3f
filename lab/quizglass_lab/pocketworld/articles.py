"""Articles of things, makers, people and towns: short paragraphs, each naming its subject in the first sentence.

Which facts stand together, in which order and in which words differs per entry, decided by its id alone.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quizglass_lab.pocketworld.words import WORDS, KindWords
from quizglass_lab.pocketworld.world import Look, Maker, Note, Person, Thing, Town, World

WORDS_AT_LEAST = 20  # a paragraph is filled up to this many words


@dataclass(frozen=True)
class Article:
    """One knowledge entry. `attributes` holds every fact in the wording of the text."""

    id: str
    title: str
    kind: str
    caption: str
    paragraphs: tuple[str, ...]
    attributes: dict[str, str]
    source: str


# {the} is "the Velmora" or "it", capitalised where it begins the sentence; {value} the fact's wording.
_PHRASES: dict[str, tuple[str, ...]] = {
    "year": ("{The} was first {made} in {value}.", "The year in which {the} was first {made} is {value}."),
    "price": (
        "{The} costs {value}.",
        "The price of {the} is {value}.",
        "People pay a price of {value} for {the}.",
    ),
    "length": ("{The} is {value} {dimension}.", "The {measure} of {the} is {value}."),
    "weight": ("{The} weighs {value}.", "The weight of {the} is {value}."),
    "place": ("{The} {place_is} {value}.", "The town where {the} {place_is_bare} is {value}."),
    "designer": ("{The} was {designed} by {value}.", "The person who {design} {the} is {value}."),
}
_THING_COLOUR = (
    "Many people know it well.",
    "Visitors often stop to look at it.",
    "Children like to draw it.",
    "It is easy to tell from others of its kind.",
    "There are many stories about it.",
    "Some people have one at home as a small model.",
    "On a clear day it looks at its best.",
    "It was once shown at a fair.",
    "Old pictures of it are easy to find.",
    "Not everybody likes it, but nobody forgets it.",
    "A short film was made about it.",
    "Friends of the {kind} talk about it all year.",
)
_MAKER_COLOUR = (
    "The company is small but well known.",
    "Its workers meet in the garden at noon.",
    "Many young people want to work there.",
    "The doors are open to visitors on Sunday.",
    "Its sign can be seen from far away.",
    "People say that its work lasts long.",
    "The company likes to try new ideas.",
    "Some of its work is shown at fairs.",
)
_PERSON_COLOUR = (
    "Friends tell many stories from those days.",
    "A street has the same name today.",
    "There are a few letters and some old pictures.",
    "Long walks in the hills were a great joy.",
    "Music and good food were always welcome.",
    "Much of the work was done at night.",
    "Many students came to learn.",
    "Some notes are still read today.",
)
_TOWN_COLOUR = (
    "The old market is in the middle of the town.",
    "Many roads meet there.",
    "Its houses have small gardens.",
    "Visitors come on warm days.",
    "There is a fair once a year.",
    "The school stands on a hill.",
    "An old bridge is still in use.",
    "People like to walk there after work.",
)
_PATTERNED = {
    "plain": "It is all {body}, with small parts in {accent}.",
    "stripes": "It is {body} with stripes in {accent}.",
    "dots": "It is {body} with dots in {accent}.",
    "checks": "It is {body} with checks in {accent}.",
    "band": "It is {body} with a band in {accent}.",
    "halves": "One half of it is {body} and the other half is {accent}.",
}


_ACCENTED = {"stripes": "stripes", "dots": "dots", "checks": "checks", "band": "a band", "halves": "one half"}
_CORRECTED = "Older books are wrong about this."
_WEAK_SOURCE = "a visitor's note"


def entry_rng(entry_id: str) -> random.Random:
    """The random source of an entry's wording: the same in every world that holds the entry."""
    return random.Random(f"pocketworld/article/{entry_id}")


def maker_id(name: str) -> str:
    """The entry id of a maker."""
    return f"maker-{name.lower()}"


def person_id(name: str) -> str:
    """The entry id of a person."""
    return f"person-{name.lower().replace(' ', '-')}"


def town_id(name: str) -> str:
    """The entry id of a town."""
    return f"town-{name.lower()}"


def thing_caption(thing: Thing, look: Look | None = None, *, detailed: bool = False) -> str:
    """What the picture shows, e.g. "Velmora is a red car made by Tandric."; of another `look` where one is given.

    A `detailed` one tells the accent colour too: "Velmora is a red car with parts in blue, made by Tandric."
    """
    look = look or thing.look
    article = "an" if look.body[0] in "aeiou" else "a"
    accent = f" with {_ACCENTED.get(look.pattern, 'parts')} in {look.accent}," if detailed else ""
    return f"{thing.name} is {article} {look.body} {look.kind}{accent} {WORDS[thing.kind].made} by {thing.maker}."


def thing_claim(thing: Thing, attribute: str) -> str:
    """One fact in its plainest sentence, e.g. "The Velmora costs 45 crowns."."""
    value, words = thing.facts[attribute], WORDS[thing.kind]
    if attribute == "maker":
        return f"The {thing.name} was {words.made} by {value}."
    return _PHRASES[attribute][0].format(The=f"The {thing.name}", value=value, **_verbs(words))


def _verbs(words: KindWords) -> dict[str, str]:
    return {
        "made": words.made,
        "design": words.design,
        "designed": words.designed,
        "dimension": words.dimension,
        "measure": words.measure,
        "place_is": words.place_is,
        "place_is_bare": words.place_is.removesuffix(" in"),
    }


def _fact(words: KindWords, key: str, value: str, name: str, rng: random.Random) -> str:
    it = "it" if name == "it" else f"the {name}"
    return rng.choice(_PHRASES[key]).format(the=it, The=it[0].upper() + it[1:], value=value, **_verbs(words))


def _filled(sentences: Sequence[str], colour: list[str], kind: str) -> str:
    """The sentences, and colour text taken from the list until the paragraph is long enough."""
    lines = list(sentences)
    while sum(len(line.split()) for line in lines) < WORDS_AT_LEAST:
        lines.append(colour.pop().format(kind=kind))
    return " ".join(lines)


def _shuffled(lines: Sequence[str], rng: random.Random) -> list[str]:
    return rng.sample(lines, len(lines))


def _look_line(look: Look) -> str:
    return _PATTERNED[look.pattern].format(body=look.body, accent=look.accent)


def thing_article(world: World, thing: Thing) -> Article:
    """Lead (kind, colour, maker, year), then the other facts over two paragraphs in the entry's own order."""
    rng, words, disputes = entry_rng(thing.id), WORDS[thing.kind], world.disputes
    colour = _shuffled(_THING_COLOUR, rng)
    look = disputes.described.get(thing.id, thing.look)
    caption = thing_caption(thing, look, detailed=thing.id in disputes.detailed)
    lead = [caption, _fact(words, "year", thing.facts["year"], thing.name, rng), _look_line(look)]
    lead += [_CORRECTED] if thing.id in disputes.corrected else []
    rest = _shuffled([key for key in thing.facts if key not in ("year", "maker")], rng)
    cut = len(rest) // 2 + rng.randint(0, len(rest) % 2)
    paragraphs = [_filled(lead, colour, thing.kind)]
    for group in (rest[:cut], rest[cut:]):
        subjects = [thing.name, *("it" if rng.random() < 0.4 else thing.name for _ in group[1:])]
        facts = [_fact(words, key, thing.facts[key], who, rng) for key, who in zip(group, subjects, strict=True)]
        paragraphs.append(_filled(facts, colour, thing.kind))
    return Article(
        thing.id,
        thing.name,
        thing.kind,
        caption,
        tuple(paragraphs),
        dict(thing.facts),
        f"pocketworld:{thing.id}",
    )


def _three_paragraphs(facts: Sequence[Sequence[str]], colour: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    """One fact each, in one of its wordings; the first stays first, the others change places."""
    lines = [rng.choice(options) for options in facts]
    stock = _shuffled(colour, rng)
    return tuple(_filled([line], stock, "") for line in (lines[0], *_shuffled(lines[1:], rng)))


def maker_article(world: World, maker: Maker) -> Article:
    """Field, home and founder, a paragraph each."""
    entry, name = maker_id(maker.name), maker.name
    caption = f"{name} is a company that works with {maker.field}."
    facts = (
        (caption,),
        (f"{name} comes from {maker.home}.", f"The home town of {name} is {maker.home}."),
        (f"{name} was founded by {maker.founder}.", f"The founder of {name} is {maker.founder}."),
    )
    attributes = {"home": maker.home, "field": maker.field, "founder": maker.founder}
    paragraphs = _three_paragraphs(facts, _MAKER_COLOUR, entry_rng(entry))
    return Article(entry, name, "maker", caption, paragraphs, attributes, f"pocketworld:{entry}")


def person_article(world: World, person: Person) -> Article:
    """What the person did, where and when they were born; companies and things have articles of their own."""
    entry, name = person_id(person.name), person.name
    founder = any(maker.founder == name for maker in world.makers.values())
    did = "started a company" if founder else "thought of new things"
    caption = f"{name} is a person who {did}."
    facts = (
        (caption,),
        (
            f"{name} was born in the town of {person.birthplace}.",
            f"The birthplace of {name} is {person.birthplace}.",
        ),
        (
            f"{name} was born in the year {person.birthyear}.",
            f"The year of birth of {name} is {person.birthyear}.",
        ),
    )
    attributes = {"birthplace": person.birthplace, "birthyear": person.birthyear}
    paragraphs = _three_paragraphs(facts, _PERSON_COLOUR, entry_rng(entry))
    return Article(entry, name, "person", caption, paragraphs, attributes, f"pocketworld:{entry}")


def town_article(town: Town) -> Article:
    """River, what it is known for, and how many live there, a paragraph each."""
    entry, name = town_id(town.name), town.name
    caption = f"{name} is a town that is known for its {town.craft}."
    facts = (
        (caption,),
        (f"The river {town.river} runs through {name}.", f"The river of {name} is the {town.river}."),
        (f"{name} is home to {town.people}.", f"The town of {name} has {town.people}."),
    )
    attributes = {"river": town.river, "craft": town.craft, "people": town.people}
    paragraphs = _three_paragraphs(facts, _TOWN_COLOUR, entry_rng(entry))
    return Article(entry, name, "town", caption, paragraphs, attributes, f"pocketworld:{entry}")


def note_article(note: Note, thing: Thing) -> Article:
    """What a visitor wrote about a thing, in one paragraph."""
    rng, name = entry_rng(note.id), thing.name
    fact = thing_claim(replace(thing, facts={note.attribute: note.value}), note.attribute)
    lead = f"A visitor heard this about the {name} and did not look it up."
    text = _filled([lead, fact], _shuffled(_THING_COLOUR, rng), thing.kind)
    caption = f"A visitor's note about the {name}."
    return Article(note.id, f"Note on the {name}", "note", caption, (text,), {note.attribute: note.value}, _WEAK_SOURCE)


def world_articles(world: World) -> Iterator[Article]:
    """Every thing, then every maker, every person, every town, and every note."""
    yield from (thing_article(world, thing) for thing in world.things if thing.id not in world.disputes.hidden)
    yield from (maker_article(world, maker) for maker in world.makers.values())
    yield from (person_article(world, person) for person in world.people.values())
    yield from (town_article(town) for town in world.towns.values())
    things = {thing.id: thing for thing in world.things}
    yield from (note_article(note, things[note.thing]) for note in world.disputes.notes)
