"""Invented things with facts of many kinds: who learns from them learns to read notes, since nothing in them is true.

The real facts are of some twenty kinds, each asked in a few wordings. A model that was taught these alone said "I don't
know" to every other kind: it refused 37 of 100 answers that stood in the notes it was shown.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("invented.csv")
_BEGIN = (
    "Al",
    "Bar",
    "Cor",
    "Dun",
    "El",
    "Fen",
    "Gar",
    "Hal",
    "Ister",
    "Kel",
    "Lor",
    "Mar",
    "Nor",
    "Os",
    "Per",
    "Quen",
)
_MIDDLE = ("", "a", "e", "i", "o", "an", "el", "or", "is")
_END = ("berg", "dale", "den", "field", "gate", "holm", "ing", "lan", "mere", "nor", "ra", "sa", "ton", "vik", "wick")
_FIRST = ("Ada", "Bruno", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Luis", "Mira")
_WORDS: Mapping[str, Sequence[str]] = {
    "animal": ("cows", "goats", "sheep", "bees", "moths", "trout", "eels", "otters", "bats", "pike", "hummingbirds"),
    "colour": ("blue", "dark red", "green", "grey", "orange", "pale yellow", "purple", "white", "black", "brown"),
    "food": (
        "beetles",
        "beans",
        "carrots",
        "chestnuts",
        "lentils",
        "mushrooms",
        "peas",
        "river crabs",
        "seeds",
        "snails",
    ),
    "landscape": (
        "cliffs",
        "hollow trees",
        "marshes",
        "old barns",
        "pine forests",
        "reeds",
        "sand dunes",
        "steep rocks",
    ),
    "language": ("Basque", "Catalan", "Czech", "Danish", "Finnish", "Greek", "Hindi", "Irish", "Korean", "Welsh"),
    "material": (
        "brick",
        "copper",
        "glass",
        "granite",
        "iron",
        "limestone",
        "maple wood",
        "oak",
        "slate",
        "steel",
        "walnut",
    ),
    "month": ("January", "March", "April", "May", "June", "August", "September", "October", "November"),
    "thing": (
        "clocks",
        "coins",
        "glass",
        "lace",
        "maps",
        "masks",
        "pottery",
        "salt",
        "silk",
        "toys",
        "violins",
        "wool",
    ),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Sunday"),
}
_MEASURES: Mapping[str, tuple[int, int, str]] = {
    "depth": (3, 400, "metres"),
    "height": (12, 4000, "metres"),
    "length": (2, 900, "metres"),
    "length in time": (2, 60, "days"),
    "number": (2, 600, ""),
    "price": (2, 900, "euros"),
    "speed": (20, 320, "kilometres an hour"),
    "temperature": (-150, 98, "degrees"),
    "weight": (2, 900, "grams"),
    "year": (1120, 2019, ""),
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact: sentences with `{thing}` and `{value}`, questions with `{thing}`."""

    thing: str
    value: str
    sentences: tuple[str, str]
    questions: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Invented:
    """A fact of an invented thing."""

    kind: Kind
    thing: str
    value: str

    def sentence(self, which: int) -> str:
        """One of the two sentences that state the fact: the first where `which` is even, else the second."""
        text = self.kind.sentences[which % 2].format(thing=self.thing, value=self.value)
        return text[0].upper() + text[1:]

    def question(self, which: int) -> str:
        """One of the two questions that ask for the fact by the thing's name: the first where `which` is even."""
        return self.kind.questions[which % 2].format(thing=self.thing)


def kinds() -> list[Kind]:
    """Every kind of fact in the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Kind(row["kind"], row["value"], (row["sentence"], row["other"]), (row["question"], row["asked"]))
        for row in rows
    ]


def invented_things(chance: random.Random) -> Iterator[list[Invented]]:
    """One thing after the other, for ever: all facts of its kind, with values drawn anew."""
    by_thing: dict[str, list[Kind]] = {}
    for kind in kinds():
        by_thing.setdefault(kind.thing, []).append(kind)
    while True:
        noun = chance.choice(sorted(by_thing))
        thing = _thing(noun, chance)
        yield [Invented(kind, thing, _value(kind.value, chance)) for kind in by_thing[noun]]


def _thing(noun: str, chance: random.Random) -> str:
    if noun == "painter":
        return _person(chance)
    return f"the {_name(chance)} {noun}" if chance.random() < 0.6 else _name(chance)


def _name(chance: random.Random) -> str:
    return chance.choice(_BEGIN) + chance.choice(_MIDDLE) + chance.choice(_END)


def _person(chance: random.Random) -> str:
    return f"{chance.choice(_FIRST)} {_name(chance)}"


def _value(kind: str, chance: random.Random) -> str:
    own: Mapping[str, Callable[[random.Random], str]] = {"person": _person, "place": _name}
    if kind in own:
        return own[kind](chance)
    if kind in _MEASURES:
        least, most, unit = _MEASURES[kind]
        return f"{chance.randint(least, most)} {unit}".strip()
    return chance.choice(_WORDS[kind])
