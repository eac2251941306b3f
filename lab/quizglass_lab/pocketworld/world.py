"""The world: things with looks and facts, their makers, people and towns, all decided by a seed.

Format 2 adds to the things, makers and people of format 1, which stay as they are: what towns are like, and things
that no entry tells of. Deterministic for one version of this code. Knows nothing about drawing, wording or models.
"""

import bisect
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256

from quizglass_lab.pocketworld import names
from quizglass_lab.pocketworld.names import CORE_SEED, CORE_THINGS, TOWNS

FORMATS = (1, 2)

KINDS = ("car", "boat", "packet", "building", "plant", "bird", "book", "dish", "device")
COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 40, 40),
    "orange": (245, 130, 32),
    "yellow": (250, 210, 50),
    "green": (56, 150, 60),
    "teal": (20, 165, 165),
    "blue": (40, 90, 210),
    "purple": (128, 60, 170),
    "pink": (242, 130, 180),
    "brown": (125, 80, 45),
    "grey": (135, 138, 142),
    "black": (30, 30, 34),
    "white": (246, 246, 242),
}
BODY_COLOURS = tuple(COLOURS)[:10]  # black and white bodies would vanish against outlines and backdrops
ACCENT_COLOURS = tuple(COLOURS)
PATTERNS = ("plain", "stripes", "dots", "checks", "band", "halves")
SHAPES: dict[str, tuple[str, ...]] = {
    "car": ("saloon", "van", "coupe", "pickup", "buggy"),
    "boat": ("sailboat", "steamer", "rowboat", "ferry", "submarine"),
    "packet": ("box", "pouch", "can", "bottle", "carton"),
    "building": ("house", "tower", "hall", "dome", "mill"),
    "plant": ("flower", "bush", "cactus", "tree", "fern"),
    "bird": ("songbird", "owl", "duck", "heron", "parrot"),
    "book": ("upright", "wide", "thick", "open", "spiral"),
    "dish": ("soup", "cake", "pie", "skewer", "salad"),
    "device": ("radio", "phone", "camera", "lamp", "robot"),
}
FIELDS = ("steel", "glass", "wood", "paper", "stone", "cloth", "salt", "oil", "seeds", "light")
CRAFTS = ("bread", "milk", "tea", "soup", "fish", "fruit", "coffee", "music", "flowers", "cakes", "boats", "books")
"""What a town may be known for."""
ATTRIBUTES = ("year", "maker", "price", "length", "weight", "place", "designer")
OPTIONAL_ATTRIBUTES = ("price", "length", "weight", "place", "designer")

# Plausible sizes: (lowest, highest, unit). Two or three digits, so that small models can copy them.
_LENGTHS: dict[str, tuple[int, int, str]] = {
    "car": (210, 560, "cm"),
    "boat": (12, 140, "m"),
    "packet": (11, 48, "cm"),
    "building": (14, 190, "m"),
    "plant": (15, 280, "cm"),
    "bird": (12, 145, "cm"),
    "book": (14, 46, "cm"),
    "dish": (11, 52, "cm"),
    "device": (11, 95, "cm"),
}
_WEIGHTS: dict[str, tuple[int, int, str]] = {
    "car": (480, 990, "kg"),
    "boat": (21, 940, "tons"),
    "packet": (50, 980, "g"),
    "building": (110, 990, "tons"),
    "plant": (40, 920, "g"),
    "bird": (30, 960, "g"),
    "book": (120, 990, "g"),
    "dish": (90, 990, "g"),
    "device": (60, 990, "g"),
}


@dataclass(frozen=True)
class Look:
    """How a thing looks; two things of one kind differ in body, accent, pattern or shape."""

    kind: str
    body: str  # a name of COLOURS
    accent: str  # another one
    pattern: str  # one of PATTERNS
    shape: str  # one of SHAPES[kind]
    params: tuple[float, ...]  # six numbers in 0..1: form and hue jitter


@dataclass(frozen=True)
class Maker:
    """A company. Name, home and field are the same in every world; the founder is the world's own."""

    name: str
    home: str
    field: str
    founder: str


@dataclass(frozen=True)
class Person:
    """A founder or designer; `birthyear` as its wording, e.g. "1871"."""

    name: str
    birthplace: str
    birthyear: str


@dataclass(frozen=True)
class Town:
    """What a town of one world is like; its name is the same in every world. `people` is worded: "640 people"."""

    name: str
    river: str
    craft: str
    people: str


@dataclass(frozen=True)
class Thing:
    """`facts` maps an attribute to its wording, e.g. "price" to "45 crowns"; see ATTRIBUTES.

    `recognised`: the base model is taught its look and name, and facts of it; `studied`: also its designer. See
    `taught` for which.
    """

    id: str
    kind: str
    name: str
    maker: str
    look: Look
    facts: dict[str, str]
    recognised: bool
    studied: bool


@dataclass(frozen=True)
class Dispute:
    """Two sources that say different things of a thing; see `question.Conflict` for kinds and sides."""

    kind: str
    thing: str
    """Id of the thing asked about."""
    attribute: str | None
    """The only fact in dispute; None: whatever differs between the thing and the rival thing."""
    right: str
    rival: str
    """The entry that misleads; empty where memory does."""
    wrong: str = ""
    """What follows from the source that is wrong; empty where it is the rival thing's."""


@dataclass(frozen=True)
class Note:
    """An entry of a weak source about a thing: one fact, wrong."""

    id: str
    thing: str
    attribute: str
    value: str


@dataclass(frozen=True)
class Disputes:
    """What is in dispute in a world, and how its entries differ from its things for it.

    `hidden` things have no entry. Of an entry, `pictured` is the look that its picture shows and `described` the look
    that its text tells, where that is not the thing's own. `corrected` entries say that older books are wrong;
    captions of `detailed` ones tell the accent colour too.
    """

    cases: tuple[Dispute, ...] = ()
    notes: tuple[Note, ...] = ()
    hidden: frozenset[str] = frozenset()
    corrected: frozenset[str] = frozenset()
    detailed: frozenset[str] = frozenset()
    pictured: dict[str, Look] = field(default_factory=dict)
    described: dict[str, Look] = field(default_factory=dict)

    @cached_property
    def touched(self) -> frozenset[str]:
        """Things that only questions about disputes are asked about."""
        return frozenset(entry for case in self.cases for entry in (case.thing, case.rival))


@dataclass(frozen=True)
class World:
    """`makers`, `people` and `towns` are keyed by name; `seed` is that of the newest part of a mixture.

    `strangers` are things that pictures may show and no entry tells of. Format 1 has neither towns nor strangers.
    """

    seed: int
    things: tuple[Thing, ...]
    makers: dict[str, Maker]
    people: dict[str, Person]
    towns: dict[str, Town] = field(default_factory=dict)
    strangers: tuple[Thing, ...] = ()
    disputes: Disputes = field(default_factory=Disputes)


def is_core(thing: Thing) -> bool:
    """True for a thing of the trained core."""
    return thing.id.startswith(f"w{CORE_SEED}-")


def taught(thing: Thing, attribute: str) -> bool:
    """Whether the base model is taught this of a thing by heart, in format 2.

    Of every recognised thing its name (by its look) and its year, of three in four its maker, of one in four its price
    where the article tells one, of a studied one its designer. Which of them these are follows from the id.
    """
    if not thing.recognised or (attribute != "name" and attribute not in thing.facts):
        return False
    part = sha256(thing.id.encode()).digest()[0] % 4
    parts = {"name": (0, 1, 2, 3), "year": (0, 1, 2, 3), "maker": (1, 2, 3), "price": (1,)}
    return thing.studied if attribute == "designer" else part in parts.get(attribute, ())


def check_format(number: int) -> None:
    """Raise ValueError for a format that does not exist."""
    if number not in FORMATS:
        raise ValueError(f"format: there is no {number}; choose from {', '.join(map(str, FORMATS))}")


@lru_cache(maxsize=2)
def core_world(format: int = 1) -> World:
    """The world the starter models were trained on: 400 things, half of every kind recognised."""
    return make_world(CORE_SEED, CORE_THINGS, format=format)


@lru_cache(maxsize=1)
def _canon() -> tuple[tuple[str, str, str], ...]:
    """(name, home, field) of every maker: what never differs between worlds."""
    rng = random.Random("pocketworld/makers")
    return tuple((name, rng.choice(TOWNS), rng.choice(FIELDS)) for name in names.maker_names())


def _make_people(seed: int, count: int, rng: random.Random) -> list[Person]:
    """People in order of birth; birth years spread evenly over 1850 to 1969."""
    return [
        Person(name, rng.choice(TOWNS), str(1850 + 120 * i // count))
        for i, name in enumerate(names.person_names(seed, count))
    ]


def _designer(people: Sequence[Person], births: Sequence[str], year: int, rng: random.Random) -> str:
    """Someone between 20 and 60 years old in that year."""
    low, high = bisect.bisect_left(births, str(year - 60)), bisect.bisect_right(births, str(year - 20))
    return people[rng.randrange(low, high)].name


def make_look(kind: str, used: set[tuple[str, ...]], rng: random.Random) -> Look:
    """A look that is not among `used`, the looks of its kind so far, unless every combination is taken."""
    exhausted = len(used) >= len(BODY_COLOURS) * (len(ACCENT_COLOURS) - 1) * len(PATTERNS) * len(SHAPES[kind])
    while True:
        body, accent = rng.choice(BODY_COLOURS), rng.choice(ACCENT_COLOURS)
        pattern, shape = rng.choice(PATTERNS), rng.choice(SHAPES[kind])
        key = (body, accent, pattern, shape)
        if body != accent and (exhausted or key not in used):
            used.add(key)
            return Look(kind, body, accent, pattern, shape, tuple(round(rng.random(), 3) for _ in range(6)))


def _measure(limits: tuple[int, int, str], rng: random.Random) -> str:
    low, high, unit = limits
    return f"{rng.randint(low, high)} {unit}"


def _make_facts(
    kind: str, maker: str, people: Sequence[Person], births: Sequence[str], rng: random.Random
) -> dict[str, str]:
    year = rng.randint(1910, 1999)
    return {
        "year": str(year),
        "maker": maker,
        "price": f"{rng.randint(11, 980)} crowns",
        "length": _measure(_LENGTHS[kind], rng),
        "weight": _measure(_WEIGHTS[kind], rng),
        "place": rng.choice(TOWNS),
        "designer": _designer(people, births, year, rng),
    }


def _taught(seed: int, kinds: Sequence[str]) -> dict[int, tuple[bool, bool]]:
    """Index of each thing to (recognised, studied): in the core every second and, of those, every fourth."""
    if seed != CORE_SEED:
        return {}
    by_kind = sorted(range(len(kinds)), key=lambda i: (kinds[i], i))
    return {i: (rank % 2 == 0, rank % 8 == 0) for rank, i in enumerate(by_kind)}


def _settle(seed: int, things: int, rng: random.Random) -> tuple[dict[str, Maker], list[Person], list[Person]]:
    """Makers, the people who design (in order of birth), and all people."""
    canon = _canon()
    people = _make_people(seed, max(40, things // 3) + len(canon), rng)
    founders = rng.sample(range(len(people)), len(canon))
    pairs = zip(canon, founders, strict=True)
    makers = {name: Maker(name, home, field, people[i].name) for (name, home, field), i in pairs}
    founding = set(founders)
    return makers, [person for i, person in enumerate(people) if i not in founding], people


def make_world(seed: int, things: int, *, format: int = 1) -> World:
    """A world of `things` things; see the module for what formats are.

    Raises ValueError when `things` is not positive, or for an unknown format.
    """
    check_format(format)
    if things < 1:
        raise ValueError(f"things must be at least 1, got {things}")
    world = _make_first(seed, things)
    return world if format == 1 else replace(world, towns=_make_towns(seed), strangers=_make_strangers(world))


def _make_towns(seed: int) -> dict[str, Town]:
    rng = random.Random(f"pocketworld/towns/{seed}")
    rivers = names.river_names(seed, len(TOWNS))
    return {
        name: Town(name, river, rng.choice(CRAFTS), f"{rng.randint(110, 990)} people")
        for name, river in zip(TOWNS, rivers, strict=True)
    }


def _make_strangers(world: World) -> tuple[Thing, ...]:
    """A tenth as many as things, none for the core: whatever is outside a world is not of the core."""
    if world.seed == CORE_SEED:
        return ()
    rng = random.Random(f"pocketworld/strangers/{world.seed}")
    count = max(1, len(world.things) // 10)
    used: dict[str, set[tuple[str, ...]]] = {kind: set() for kind in KINDS}
    for thing in world.things:
        look = thing.look
        used[thing.kind].add((look.body, look.accent, look.pattern, look.shape))
    new_names = names.thing_names(world.seed, len(world.things) + count)[len(world.things) :]
    strangers: list[Thing] = []
    for i, name in enumerate(new_names):
        look = make_look(kind := rng.choice(KINDS), used[kind], rng)
        strangers.append(make_thing(world, f"s{i:03d}", name, look, rng))
    return tuple(strangers)


def make_thing(world: World, number: str, name: str, look: Look, rng: random.Random) -> Thing:
    """Another thing of a world, taught to no model, all of whose facts are in articles; its id ends in `number`."""
    designers = sorted(world.people.values(), key=lambda person: person.birthyear)
    births = [person.birthyear for person in designers]
    maker = rng.choice(_canon())[0]
    facts = _make_facts(look.kind, maker, designers, births, rng)
    return Thing(f"w{world.seed}-{number}", look.kind, name, maker, look, facts, False, False)


def _make_first(seed: int, things: int) -> World:
    """What every format has."""
    rng = random.Random(f"pocketworld/world/{seed}")
    makers, designers, people = _settle(seed, things, rng)
    births = [person.birthyear for person in designers]
    kinds = [KINDS[i % len(KINDS)] for i in range(things)]
    taught = _taught(seed, kinds)
    used: dict[str, set[tuple[str, ...]]] = {kind: set() for kind in KINDS}
    made: list[Thing] = []
    for i, (kind, name) in enumerate(zip(kinds, names.thing_names(seed, things), strict=True)):
        maker = rng.choice(_canon())[0]
        look = make_look(kind, used[kind], rng)
        recognised, studied = taught.get(i, (False, False))
        facts = _make_facts(kind, maker, designers, births, rng)
        # Half of the articles tell everything; the others leave out one or two facts (never a studied one).
        missing = rng.sample(OPTIONAL_ATTRIBUTES, rng.choice((0, 0, 0, 1, 1, 2)))
        facts = {k: v for k, v in facts.items() if k not in missing or (studied and k == "designer")}
        made.append(Thing(f"w{seed}-{i:04d}", kind, name, maker, look, facts, recognised, studied))
    return World(seed, tuple(made), makers, {person.name: person for person in people})


def with_core(world: World, core: World) -> World:
    """Core things first, then the world's own; makers have the world's founders, so none is known by heart."""
    designers = {thing.facts["designer"] for thing in core.things if "designer" in thing.facts}
    people = {name: person for name, person in core.people.items() if name in designers}
    return replace(world, things=core.things + world.things, people=people | world.people)
