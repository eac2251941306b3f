"""Differences and multiples: of plain numbers, of numbers in sentences, and in served evidence.

They are those of the calculation questions: how much older or dearer one of two is, what two or three of a thing cost,
what is left of a note. What is written is the working, `<<1991-1952>> years`: the calculator knows the rest.
"""

from __future__ import annotations

import random

from quizglass_lab.pocketworld import workings
from quizglass_lab.pocketworld.names import thing_names
from quizglass_lab.pocketworld.phrasing import (
    NUMBER_WORDS,
    ask_change,
    ask_difference,
    ask_several,
    ask_total,
    named,
)
from quizglass_lab.pocketworld.world import Thing
from quizglass_lab.starter.data.examples import Example, Request
from quizglass_lab.starter.data.library import Library

_TOLD = {"price": "The {name} costs {value} crowns.", "year": "The {name} was first made in {value}."}
_UNITS = {"price": "crowns", "year": "years"}
_NOTES = (20, 50, 100)
_MOST = 999
"""Price of several things, in crowns."""


class Calculating:
    """Makes groups of calculations; all of a group share what their numbers are read from."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def plain(self, count: int = 4) -> list[Example]:
        """Numbers that the question gives."""
        return [self._difference() if self.rng.random() < 0.6 else self._product() for _ in range(count)]

    def _difference(self) -> Example:
        low, high = self._pair(self.rng.choice(("year", "price", "note")))
        return Example(
            Request("answer", f"What is {high} minus {low}?"), workings.difference(high, low), "calculate-plain"
        )

    def _product(self) -> Example:
        count = self.rng.choice((2, 2, 3, 3, 4, 5))
        price = self.rng.randint(2, 30) if count > 3 else min(self._price(), _MOST // count)
        text = f"What is {NUMBER_WORDS[count]} times {price}?"
        return Example(Request("answer", text), workings.product(count, price), "calculate-plain")

    def told(self) -> list[Example]:
        """Two short passages about invented things, or a sign."""
        if self.rng.random() < 0.3:
            return self.signs()
        attribute = self.rng.choice(("price", "year"))
        low, high = self._pair(attribute)
        cheap, dear = thing_names(self.rng.randrange(1 << 30), 2)
        found = [f"{name}: {_TOLD[attribute].format(name=name, value=n)}" for name, n in ((cheap, low), (dear, high))]
        self.rng.shuffle(found)
        return self._asked(attribute, (cheap, low), (dear, high), tuple(found), "calculate-told")

    def signs(self) -> list[Example]:
        """A price on a sign: what some cost, and the change."""
        price = self.rng.randint(2, 30)
        note, words = self.rng.choice([note for note in _NOTES if note > price]), f"Today {price} Crowns"
        asked = [(ask_change(f"{note} crowns", self.rng), workings.difference(note, price, "crowns"))]
        asked += [
            (ask_total(count, self.rng), workings.product(count, price, "crowns"))
            for count in self.rng.sample((2, 3, 4, 5), 2)
        ]
        return [Example(Request("answer", text, words=words), working, "calculate-sign") for text, working in asked]

    def read(self, library: Library) -> list[Example]:
        """Passages of two things of a world, of which one or both tell what is asked for."""
        attribute = self.rng.choice(("price", "year"))
        things = [thing for thing in library.world.things if library.findable(thing)]
        for _ in range(20):
            pair = [(thing, _number(thing, attribute)) for thing in self.rng.sample(things, 2)]
            passages = [library.telling(library.articles[thing.id], attribute) for thing, _ in pair]
            if pair[0][1] != pair[1][1] and all(passages):
                low, high = sorted(((thing.name, number) for thing, number in pair), key=lambda each: each[1])
                found = tuple(passage for passage in passages if passage)
                return self._asked(attribute, low, high, found, "calculate-read")
        return self.plain()

    def _asked(
        self, attribute: str, low: tuple[str, int], high: tuple[str, int], found: tuple[str, ...], task: str
    ) -> list[Example]:
        """The difference, and of prices what two or three cost."""
        more, less = (low, high) if attribute == "year" else (high, low)  # older is the earlier year
        text = ask_difference(attribute, named(more[0]), named(less[0]), "car", self.rng)
        asked = [(text, workings.difference(high[1], low[1], _UNITS[attribute]))]
        if attribute == "price":
            several = [(n, *side) for side in (low, high) for n in (2, 3) if n * side[1] <= _MOST]
            asked += [
                (ask_several(n, named(name), self.rng), workings.product(n, price, _UNITS[attribute]))
                for n, name, price in several
            ]
        return [
            Example(
                Request("answer", text, found=found, query=text if self.rng.random() < 0.5 else None), working, task
            )
            for text, working in asked
        ]

    def _pair(self, attribute: str) -> tuple[int, int]:
        """Two different numbers, the lower first."""
        if attribute == "note":
            note = self.rng.choice(_NOTES)
            return self.rng.randint(note // 4, note - 1), note
        one, other = (self._price() if attribute == "price" else self.rng.randint(1910, 1999) for _ in range(2))
        return (min(one, other), max(one, other)) if one != other else self._pair(attribute)

    def _price(self) -> int:
        return self.rng.randint(11, 99) if self.rng.random() < 0.4 else self.rng.randint(11, 980)


def _number(thing: Thing, attribute: str) -> int:
    return int(thing.facts.get(attribute, "0").split()[0])
