"""Disputes: makes sources of a world contradict what was taught, or each other, so that only one of them is right.

Memory against evidence, about things that the base was taught by heart:
    stale    the article corrects what was taught
    rumour   a visitor's note contradicts what was taught; the store has no other entry of the thing
    twin     another thing bears nearly its name; the store has no entry of the thing itself, or (of a thing that no one
             knows by heart) it has
Picture against text, about things that are not known by sight:
    near-twin          another thing looks the same but for its accent colour; captions and articles tell which
    swapped-picture    another entry shows this thing's picture; its text describes another colour
    telling-caption    another thing differs in its body colour alone, by little, and captions tell it; or two captions
                       have changed places, and the picture tells

Deterministic by the world's seed. Names never collide.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from quizglass_lab.pocketworld import names
from quizglass_lab.pocketworld.names import CORE_SEED
from quizglass_lab.pocketworld.world import (
    ACCENT_COLOURS,
    PATTERNS,
    Dispute,
    Disputes,
    Look,
    Note,
    Thing,
    World,
    make_thing,
    taught,
)

MEMORY_KINDS = ("stale", "rumour", "twin")
PICTURE_KINDS = ("near-twin", "swapped-picture", "telling-caption")
DISPUTE_KINDS = MEMORY_KINDS + PICTURE_KINDS
EACH = 24
_ALIKE = (
    ("red", "orange"),
    ("orange", "yellow"),
    ("green", "teal"),
    ("teal", "blue"),
    ("blue", "purple"),
    ("purple", "pink"),
    ("pink", "red"),
    ("brown", "orange"),
    ("grey", "teal"),
    ("yellow", "green"),
)
_YEARS = (1910, 1999)
_CHANGE = (6, 40)  # years between a right and a wrong one
_PER_CASE = (6, 12)  # recognised and unrecognised things that a world needs for one case of every kind


class _Disputing:
    """A world while its disputes are made: things not in dispute yet, and what was decided."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = random.Random(f"pocketworld/disputes/{world.seed}")
        things = self.rng.sample(world.things, len(world.things))
        self.recognised = [thing for thing in things if thing.recognised]
        self.unknown = [thing for thing in things if not thing.recognised]
        self.names = {thing.name for thing in (*world.things, *world.strangers)} | names.core_thing_names()
        self.changed: dict[str, Thing] = {}
        self.added: list[Thing] = []
        self.cases: list[Dispute] = []
        self.notes: list[Note] = []
        self.hidden: set[str] = set()
        self.detailed: set[str] = set()
        self.pictured: dict[str, Look] = {}
        self.described: dict[str, Look] = {}

    def finish(self) -> World:
        """The world with all of it."""
        things = (*(self.changed.get(thing.id, thing) for thing in self.world.things), *self.added)
        disputes = Disputes(
            tuple(self.cases),
            tuple(self.notes),
            frozenset(self.hidden),
            frozenset(self.changed),
            frozenset(self.detailed),
            self.pictured,
            self.described,
        )
        return replace(self.world, things=things, disputes=disputes)

    def rival(self, thing: Thing, look: Look, *, nearly: bool = False) -> Thing:
        """A new thing with that look and, with `nearly`, almost the name; its year and maker are others."""
        options = names.twin_names(thing.name, self.rng) if nearly else names.stray_words(self.rng)
        name = next(option for option in options if option not in self.names)
        self.names.add(name)
        while True:
            rival = make_thing(self.world, f"d{len(self.added):03d}", name, look, self.rng)
            if all(rival.facts[attribute] != thing.facts[attribute] for attribute in ("year", "maker")):
                self.added.append(rival)
                return rival

    def wrong(self, thing: Thing, attribute: str) -> str:
        """Another value of a fact: a year not far away, a maker, a price."""
        if attribute == "maker":
            return self.rng.choice([name for name in self.world.makers if name != thing.maker])
        if attribute == "price":
            return f"{(int(thing.facts['price'].split()[0]) + self.rng.randint(150, 700)) % 900 + 11} crowns"
        year, step = int(thing.facts["year"]), self.rng.randint(*_CHANGE)
        earlier, later = year - step, year + step
        return str(later if earlier < _YEARS[0] or (later <= _YEARS[1] and self.rng.random() < 0.5) else earlier)

    def stale(self, _: int) -> None:
        """The year or the maker in the article is another than was taught."""
        thing = self.recognised.pop()
        attribute = self.rng.choice([a for a in ("year", "maker") if taught(thing, a)])
        new = self.wrong(thing, attribute)
        maker = new if attribute == "maker" else thing.maker
        self.changed[thing.id] = replace(thing, facts=thing.facts | {attribute: new}, maker=maker)
        self.cases.append(Dispute("stale", thing.id, attribute, "evidence", "", thing.facts[attribute]))

    def rumour(self, _: int) -> None:
        """A note tells another year, maker or price."""
        thing = self.recognised.pop()
        attribute = self.rng.choice([a for a in ("year", "maker", "price") if taught(thing, a)])
        note = Note(f"note-{thing.id}", thing.id, attribute, self.wrong(thing, attribute))
        self.notes.append(note)
        self.hidden.add(thing.id)
        self.cases.append(Dispute("rumour", thing.id, attribute, "memory", note.id, note.value))

    def twin(self, number: int) -> None:
        """Half of the time about a thing known by heart, without an entry of its own."""
        known = number % 2 == 0
        thing = (self.recognised if known else self.unknown).pop()
        pattern = self.rng.choice([pattern for pattern in PATTERNS if pattern != thing.look.pattern])
        rival = self.rival(thing, replace(thing.look, pattern=pattern), nearly=True)
        if known:
            self.hidden.add(thing.id)
        self.cases.append(Dispute("twin", thing.id, None, "memory" if known else "evidence", rival.id))

    def near_twin(self, _: int) -> None:
        """Another accent colour, which captions tell."""
        thing = self.unknown.pop()
        taken = (thing.look.body, thing.look.accent)
        accent = self.rng.choice([colour for colour in ACCENT_COLOURS if colour not in taken])
        rival = self.rival(thing, replace(thing.look, accent=accent))
        self.detailed |= {thing.id, rival.id}
        self.cases.append(Dispute("near-twin", thing.id, None, "text", rival.id))

    def swapped_picture(self, _: int) -> None:
        """The entry of another thing of the kind, of another colour, shows this one."""
        thing = self.unknown.pop()
        rival = self._other_colour(thing)
        self.pictured[rival.id] = thing.look
        self.cases.append(Dispute("swapped-picture", thing.id, None, "text", rival.id))

    def telling_caption(self, number: int) -> None:
        """A colour that is nearly the same, or captions that have changed places."""
        thing = self.unknown.pop()
        if number % 2 == 0:
            rival = self.rival(thing, replace(thing.look, body=self._alike(thing.look)))
            self.cases.append(Dispute("telling-caption", thing.id, None, "text", rival.id))
            return
        rival = self._other_colour(thing)
        for one, other in ((thing, rival), (rival, thing)):
            self.described[one.id] = replace(one.look, body=other.look.body, accent=other.look.accent)
        self.cases.append(Dispute("telling-caption", thing.id, None, "picture", rival.id))

    def _alike(self, look: Look) -> str:
        options = [a if b == look.body else b for a, b in _ALIKE if look.body in (a, b) and look.accent not in (a, b)]
        return self.rng.choice(options or [c for pair in _ALIKE for c in pair if c not in (look.body, look.accent)])

    def _other_colour(self, thing: Thing) -> Thing:
        """Another thing of the kind and another body colour, taken out of the supply; a new one where there is none."""
        for place, other in enumerate(self.unknown):
            if other.kind == thing.kind and other.look.body != thing.look.body:
                return self.unknown.pop(place)
        return self.rival(thing, replace(thing.look, body=self._alike(thing.look)))


def with_disputes(world: World, each: int = EACH) -> World:
    """The world with up to `each` disputes of every kind: fewer where it has few things, none of memory without a core.

    Raises:
        ValueError: the world is the core alone, whose ids belong to what was taught, or it is in dispute already.
    """
    if world.seed == CORE_SEED or world.disputes.cases:
        raise ValueError("disputes: pass a world of another seed than the core's that is not in dispute yet")
    disputing = _Disputing(world)
    memory = min(each, len(disputing.recognised) // _PER_CASE[0])
    pictures = min(each, len(disputing.unknown) // _PER_CASE[1])
    steps: dict[str, tuple[int, Callable[[int], None]]] = {
        "stale": (memory, disputing.stale),
        "rumour": (memory, disputing.rumour),
        "twin": (min(memory, pictures), disputing.twin),
        "near-twin": (pictures, disputing.near_twin),
        "swapped-picture": (pictures, disputing.swapped_picture),
        "telling-caption": (pictures, disputing.telling_caption),
    }
    for count, step in steps.values():
        for number in range(count):
            step(number)
    return disputing.finish()
