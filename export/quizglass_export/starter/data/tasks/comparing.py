"""Which of two is more: plain numbers first, then numbers and years read in passages, in every order and both ways."""

from __future__ import annotations

import random

from quizglass_export.pocketworld.names import thing_names
from quizglass_export.pocketworld.phrasing import ask_which, named
from quizglass_export.starter.data.examples import Example, Request
from quizglass_export.starter.data.library import Library

_PLAIN = {True: ("Which is more, {a} or {b}?",), False: ("Which is less, {a} or {b}?",)}
_CLOSE = 1 / 3
_NEAR = {"price": 60, "year": 9}
_RANGES = {"price": (11, 980), "year": (1910, 1999)}
_OF_THE_TWO = {
    ("price", True): "What does the dearer of the two cost?",
    ("price", False): "What does the cheaper of the two cost?",
    ("year", True): "When was the newer of the two first made?",
    ("year", False): "When was the older of the two first made?",
}
"""Which number is more, before whose it is: half of the way to a name."""
_TOLD = {"price": "The {name} costs {value} crowns.", "year": "The {name} was first made in {value}."}


class Comparing:
    """Makes groups of comparisons; all of a group share their passages."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def plain(self, count: int = 4) -> list[Example]:
        """Two numbers that the question gives."""
        examples: list[Example] = []
        for _ in range(count):
            low, high = self._pair(self.rng.choice(("price", "year")))
            more = self.rng.random() < 0.5
            first, second = self.rng.sample((low, high), 2)
            text = self.rng.choice(_PLAIN[more]).format(a=first, b=second)
            examples.append(Example(Request("answer", text), str(high if more else low), "compare-plain"))
        return examples

    def told(self) -> list[Example]:
        """Two short passages about invented things."""
        attribute = self.rng.choice(("price", "year"))
        low, high = self._pair(attribute)
        cheap, dear = thing_names(self.rng.randrange(1 << 30), 2)
        found = tuple(
            f"{name}: {_TOLD[attribute].format(name=name, value=value)}" for name, value in ((cheap, low), (dear, high))
        )
        found = tuple(self.rng.sample(found, 2))
        unit = " crowns" if attribute == "price" else ""
        numbers = [
            Example(Request("answer", _OF_THE_TWO[attribute, more], found=found), f"{number}{unit}", "compare-number")
            for more, number in ((True, high), (False, low))
        ]
        return [*numbers, *self._asked(attribute, cheap, dear, found, "compare-told")]

    def read(self, library: Library) -> list[Example]:
        """Two passages of a world."""
        attribute = self.rng.choice(("price", "year"))
        things = [thing for thing in library.world.things if library.findable(thing)]
        for _ in range(20):
            pair = self.rng.sample(things, 2)
            numbers = [int(thing.facts.get(attribute, "0").split()[0]) for thing in pair]
            passages = [library.telling(library.articles[thing.id], attribute) for thing in pair]
            if numbers[0] and numbers[1] and numbers[0] != numbers[1] and all(passages):
                low, high = (
                    thing.name for _, thing in sorted(zip(numbers, pair, strict=True), key=lambda each: each[0])
                )
                found = tuple(passage for passage in passages if passage)
                return self._asked(attribute, low, high, found, "compare-read")
        return self.plain()

    def _asked(self, attribute: str, low: str, high: str, found: tuple[str, ...], task: str) -> list[Example]:
        """More and less, in either order of the names."""
        examples: list[Example] = []
        for more in (True, False):
            for first, second in ((low, high), (high, low)):
                text = ask_which(attribute, more, named(first), named(second), self.rng)
                query = text if self.rng.random() < 0.5 else None
                examples.append(Example(Request("answer", text, found=found, query=query), high if more else low, task))
        return examples

    def _pair(self, attribute: str) -> tuple[int, int]:
        """Two different numbers, the lower first: one pair of three is close, most prices have as many digits."""
        low, high = _RANGES[attribute]
        if attribute == "price" and self.rng.random() < 0.7:
            low, high = self.rng.choice(((11, 99), (100, 980), (100, 980)))
        first = self.rng.randint(low, high)
        if self.rng.random() < _CLOSE:
            low, high = max(low, first - _NEAR[attribute]), min(high, first + _NEAR[attribute])
        second = self.rng.choice([number for number in range(low, high + 1) if number != first])
        return min(first, second), max(first, second)
