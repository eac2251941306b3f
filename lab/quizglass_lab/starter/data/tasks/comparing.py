"""Which of two is more, read in short passages and in those of a world: in every order, both ways.

What is written is the working, `<<most Velmora 761, Tandric 435>>`. Asked for the name alone, a base of four layers
learned which of two numbers beside each other is more, and whose it is never beyond chance.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from quizglass_lab.pocketworld import workings
from quizglass_lab.pocketworld.families.comparing import comparable, number_of
from quizglass_lab.pocketworld.names import thing_names
from quizglass_lab.pocketworld.phrasing import ask, ask_which, named
from quizglass_lab.pocketworld.questions.balanced import NUMBERS
from quizglass_lab.pocketworld.world import KINDS
from quizglass_lab.starter.data.examples import Encoded, Encoder, Example, Request
from quizglass_lab.starter.data.library import Library

_TOLD = {
    "price": (
        "The {name} costs {value} crowns.",
        "The price of the {name} is {value} crowns.",
        "People pay a price of {value} crowns for the {name}.",
    ),
    "year": (
        "The {name} was first made in {value}.",
        "The year in which the {name} was first made is {value}.",
    ),
    "weight": ("The {name} weighs {value} kg.", "The weight of the {name} is {value} kg."),
    "length": ("The {name} is {value} cm long.", "The length of the {name} is {value} cm."),
}
_UNITS = {"price": " crowns", "year": "", "weight": " kg", "length": " cm"}
_MOST = {
    "price": ("dearest", "cheapest"),
    "year": ("newest", "oldest"),
    "weight": ("heaviest", "lightest"),
    "length": ("longest", "shortest"),
}
_SEVERAL = (2, 2, 2, 3, 4)
_LISTED = (3, 9)
_TRIES = 40
Side = tuple[str, int]
"""A name and a number."""


class Comparing:
    """Makes groups of comparisons; all of a group share their passages."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def told(self) -> list[Example]:
        """Two to four short passages about invented things, of which the number of each is asked for, too."""
        attribute, count = self._attribute(), self.rng.choice(_SEVERAL)
        sides = self._sides(attribute, count)
        found = tuple(self._passage(attribute, side) for side in sides)
        kind = self.rng.choice(KINDS)
        read = [
            Example(
                Request("answer", ask(attribute, kind, named(name), self.rng), found=found),
                f"{number}{_UNITS[attribute]}",
                "compare-one",
            )
            for name, number in sides[:2]
        ]
        if count == 2:
            return [*read, *self._asked(attribute, sides, found, "compare-told", kind)]
        return [*read, *self._of_several(attribute, sides, found)]

    def listed(self, encoder: Encoder) -> list[Encoded]:
        """One row: passages about several things, then the names, each with its number, in another order.

        Every token of the list is a target. Without such rows no base here learned whose a number is: of two passages
        on the same it took the first, which mostly is the right one. With them it did within four minutes.
        """
        alike = self.rng.random() < 0.5
        attribute, count = self._attribute(), self.rng.randint(*_LISTED)
        sides = self._sides(attribute, count)
        passages = [self._passage(attribute if alike else self._attribute(), side) for side in sides]
        order = self.rng.sample(sides, count)
        told = encoder.answer(" ".join(passages))[:-1]
        listed = encoder.answer(", ".join(f"{name} {number}" for name, number in order))
        return [Encoded((encoder.end, *told, encoder.end), listed, None, "listed")]

    def _sides(self, attribute: str, count: int) -> list[Side]:
        numbers = self.rng.sample(range(1910, 2000) if attribute == "year" else range(11, 981), count)
        return list(zip(thing_names(self.rng.randrange(1 << 30), count), numbers, strict=True))

    def _passage(self, attribute: str, side: Side) -> str:
        name, number = side
        return f"{name}: {self.rng.choice(_TOLD[attribute]).format(name=name, value=number)}"

    def _of_several(self, attribute: str, sides: Sequence[Side], found: tuple[str, ...]) -> list[Example]:
        """Which of three or four has most, and which least."""
        examples: list[Example] = []
        for more, word in zip((True, False), _MOST[attribute], strict=True):
            listed = self.rng.sample(sides, len(sides))
            *first, last = (named(name) for name, _ in listed)
            request = Request("answer", f"Which is the {word}, {', '.join(first)} or {last}?", found=found)
            examples.append(Example(request, workings.choice(listed, more=more), "compare-several"))
        return examples

    def read(self, library: Library) -> list[Example]:
        """Two passages of a world."""
        attribute = self._attribute()
        things = [thing for thing in library.world.things if library.findable(thing)]
        for _ in range(_TRIES):
            one, other = self.rng.sample(things, 2)
            passages = [library.telling(library.articles[thing.id], attribute) for thing in (one, other)]
            if comparable(one, other, attribute) and all(passages):
                sides = [(thing.name, number_of(thing, attribute)) for thing in (one, other)]
                found = tuple(passage for passage in passages if passage)
                return self._asked(attribute, sides, found, "compare-read", one.kind)
        return self.told()

    def _attribute(self) -> str:
        (attribute,) = self.rng.choices(list(NUMBERS), list(NUMBERS.values()))
        return attribute

    def _asked(
        self, attribute: str, sides: Sequence[Side], found: tuple[str, ...], task: str, kind: str
    ) -> list[Example]:
        """More and less, in either order of the names."""
        examples: list[Example] = []
        for more in (True, False):
            for pair in (sides, sides[::-1]):
                first, second = (named(name) for name, _ in pair)
                text = ask_which(attribute, more, first, second, self.rng, kind=kind)
                query = text if self.rng.random() < 0.5 else None
                request = Request("answer", text, found=found, query=query)
                examples.append(Example(request, workings.choice(pair, more=more), task))
        return examples
