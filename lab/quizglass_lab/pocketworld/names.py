"""Names of things, makers, people and towns: invented, pronounceable, and never the same by accident.

Every thing name is two or three syllables out of one fixed prefix-free list, so that a small tokenizer
learns the syllables and copies any name. Makers, people and rivers end in endings of their own, which keeps the
families of names disjoint by construction.
"""

import random
from collections.abc import Iterator
from functools import lru_cache

CORE_SEED = 1
CORE_THINGS = 400

_SYLLABLES = """
    bal bar be bin bo bru ca cel cor cul da del den di dor dun fa fel fen fi for ful ga gel gin gor gol gu
    ha hel hin hol hor hu ja jen jil jo jun kal kan ke kin ko kur la len ler li lom lon lu ma mel mer mi mol
    mon mu na nel nen ni nor nu pa pel per pi pol pon pun ra rel ren ri rol ron ru sal san se sil sin so sur
    ta tel ter ti tol ton tu va vel ven vi vol von vu za zel zen zil zo zu
"""
_FIRST_NAMES = """
    Ana Ben Clara David Emma Felix Greta Hugo Ida Jonas Karin Leo Maria Nils Olga Paul Rosa Simon Tara Ulla
    Viktor Wanda Yara Zeno
"""
_TOWNS = """
    Alderby Ashmouth Brackley Cliffton Dunmoor Eastholm Elmstow Fairmere Foxdale Glenport Harrow Inverly
    Jadehill Kingsby Larkham Marlow Northgate Oakridge Pinewood Quarry Redcliff Saltash Stonebridge Thornbury
    Underhill Valeport Westmere Whitby Yarmoor Zellwood
"""
SYLLABLES = tuple(_SYLLABLES.split())
FIRST_NAMES = tuple(_FIRST_NAMES.split())
TOWNS = tuple(_TOWNS.split())
MAKER_ENDINGS = ("dex", "trix", "wex", "fyx")
RIVER_ENDING = "water"
PERSON_ENDINGS = ("berg", "brook", "dahl", "gard", "holt", "lund", "quist", "stad", "sen", "wick", "worth")


def _rng(purpose: str, seed: int) -> random.Random:
    return random.Random(f"pocketworld/{purpose}/{seed}")


def _word(rng: random.Random) -> str:
    """One capitalised word of two (three in five) or three syllables, no syllable twice."""
    return "".join(rng.sample(SYLLABLES, 2 if rng.random() < 0.6 else 3)).capitalize()


def stray_words(rng: random.Random) -> Iterator[str]:
    """Endless names in the manner of things; the caller skips those that exist."""
    while True:
        yield _word(rng)


def split(name: str) -> list[str]:
    """The syllables of a thing's name, in lower case; they are prefix-free, so there is one way."""
    rest, syllables = name.lower(), []
    while rest:
        syllables.append(next(syllable for syllable in SYLLABLES if rest.startswith(syllable)))
        rest = rest.removeprefix(syllables[-1])
    return syllables


def twin_names(name: str, rng: random.Random) -> Iterator[str]:
    """Names that differ from one in a single syllable, in random order; the caller skips those that exist."""
    own = split(name)
    places = [(place, other) for place in range(len(own)) for other in SYLLABLES if other not in own]
    for place, other in rng.sample(places, len(places)):
        yield "".join((*own[:place], other, *own[place + 1 :])).capitalize()


def _thing_names(seed: int, taken: frozenset[str]) -> Iterator[str]:
    rng, used = _rng("thing-names", seed), set(taken)
    while True:
        name = _word(rng)
        if name not in used:
            used.add(name)
            yield name


def _person_names(seed: int, taken: frozenset[str]) -> Iterator[str]:
    rng, used = _rng("person-names", seed), set(taken)
    while True:
        last = (rng.choice(SYLLABLES) + rng.choice(PERSON_ENDINGS)).capitalize()
        name = f"{rng.choice(FIRST_NAMES)} {last}"
        if name not in used:
            used.add(name)
            yield name


def _first(names: Iterator[str], count: int) -> list[str]:
    return [next(names) for _ in range(count)]


@lru_cache(maxsize=1)
def core_thing_names() -> frozenset[str]:
    """The names of the trained core: reserved, no other seed produces them."""
    return frozenset(_first(_thing_names(CORE_SEED, frozenset()), CORE_THINGS))


@lru_cache(maxsize=1)
def core_person_names() -> frozenset[str]:
    """Reserved people of the core (founders and designers; generously more than it uses)."""
    return frozenset(_first(_person_names(CORE_SEED, frozenset()), 2 * CORE_THINGS))


def thing_names(seed: int, count: int) -> list[str]:
    """`count` distinct names; a shorter list is always a prefix of a longer one of the same seed."""
    return _first(_thing_names(seed, frozenset() if seed == CORE_SEED else core_thing_names()), count)


def person_names(seed: int, count: int) -> list[str]:
    """`count` distinct full names, e.g. "Ana Velberg"."""
    return _first(_person_names(seed, frozenset() if seed == CORE_SEED else core_person_names()), count)


def river_names(seed: int, count: int) -> list[str]:
    """`count` distinct rivers, e.g. "Velwater"; at most as many as there are syllables."""
    return [f"{syllable.capitalize()}{RIVER_ENDING}" for syllable in _rng("rivers", seed).sample(SYLLABLES, count)]


@lru_cache(maxsize=1)
def maker_names(count: int = 40) -> tuple[str, ...]:
    """The makers' names: canon, the same in every world; no two begin with the same two syllables."""
    rng = _rng("maker-names", 0)
    stems: list[str] = []
    while len(stems) < count:
        stem = "".join(rng.sample(SYLLABLES, 2)).capitalize()
        if stem not in stems:
            stems.append(stem)
    return tuple(stem + MAKER_ENDINGS[i % len(MAKER_ENDINGS)] for i, stem in enumerate(stems))
