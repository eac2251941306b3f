"""Two things and one of their numbers: which has more, and how much more."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from quizglass_lab.pocketworld import phrasing, workings
from quizglass_lab.pocketworld.asker import Asker, Pointed, look_up
from quizglass_lab.pocketworld.families.facts import MakeQuestion, searches
from quizglass_lab.pocketworld.families.hops import aliases_of_result, telling
from quizglass_lab.pocketworld.families.walks import group_of, walk
from quizglass_lab.pocketworld.phrasing import named
from quizglass_lab.pocketworld.question import Hop, Question
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.words import NUMBER_DOMAIN
from quizglass_lab.pocketworld.world import Thing

_CANDIDATES = 24


@dataclass(frozen=True)
class Worded:
    """A question about two things in words, and its answer with how that is worked out."""

    text: str
    gold: str
    answer: str
    aliases: tuple[str, ...]
    working: str


@dataclass(frozen=True)
class Side:
    """One of the two: the words for it, and whether the question names it."""

    thing: Thing
    words: str
    named: bool

    def hops(self, attribute: str) -> tuple[Hop, ...]:
        """Its name, if only the picture shows it, then its number; both sides go on at the same time."""
        told = telling(self.thing, attribute)
        if self.named:
            return (told,)
        return look_up(self.thing, self.words), replace(told, round=1)

    def searches(self, asker: Asker, attribute: str) -> set[str]:
        """The searches it needs, given the taught knowledge."""
        legs = walk(asker.world, self.thing, (attribute,)) or ()
        return searches(self.thing, legs, frozenset({"name"} if self.named else ()))


def number_of(thing: Thing, attribute: str) -> int:
    """The number in a fact."""
    return int(thing.facts[attribute].split()[0])


def unit_of(thing: Thing, attribute: str) -> str:
    """The unit of a fact; empty for years."""
    return thing.facts[attribute].partition(" ")[2]


def comparable(one: Thing, other: Thing, attribute: str) -> bool:
    """Whether both articles tell it, in one unit and with different numbers."""
    return (
        one.id != other.id
        and attribute in one.facts
        and attribute in other.facts
        and unit_of(one, attribute) == unit_of(other, attribute)
        and number_of(one, attribute) != number_of(other, attribute)
        and (attribute != "length" or one.kind == other.kind)  # "taller" is not "longer"
    )


def comparison(seen: Mapping[int, float], attributes: Mapping[str, float]) -> MakeQuestion:
    """Which of two is older, dearer, heavier or longer; `seen` of them (0 to 2, weighted) are only in the picture."""
    return _of_two("comparison", _compare, seen, attributes)


def difference(seen: Mapping[int, float], attributes: Mapping[str, float]) -> MakeQuestion:
    """How much more one has than the other."""
    return _of_two("calculation", _subtract, seen, attributes)


def _of_two(
    family: str,
    worded: Callable[[Asker, tuple[Side, Side], str], Worded],
    seen: Mapping[int, float],
    attributes: Mapping[str, float],
) -> MakeQuestion:
    def make(asker: Asker, thing: Thing) -> Question | None:
        attribute = asker.rng.choices(list(attributes), list(attributes.values()))[0]
        things = asker.world.things
        if attribute == "length":
            things = tuple(other for other in things if other.kind == thing.kind)
        others = [asker.rng.choice(things) for _ in range(_CANDIDATES)]
        touched = asker.world.disputes.touched
        other = next((o for o in others if o.id not in touched and comparable(thing, o, attribute)), None)
        if other is None:
            return None
        count = asker.rng.choices(list(seen), list(seen.values()))[0]
        scene, pair = _sides(asker, thing, other, count)
        group = group_of(pair[0].searches(asker, attribute) | pair[1].searches(asker, attribute))
        if asker.group not in (None, group):
            return None
        return replace(_build(asker, family, scene, pair, attribute, worded(asker, pair, attribute)), group=group)

    return make


def _sides(asker: Asker, thing: Thing, other: Thing, seen: int) -> tuple[Scene, tuple[Side, Side]]:
    """The picture and both sides, in the order of the question."""
    if seen == 2:
        scene, subjects = asker.scene_of_two(thing, other)
        sides = (Side(thing, subjects[0], False), Side(other, subjects[1], False))
    else:
        scene, subject = asker.scene(thing)
        first = Side(thing, subject, False) if seen else Side(thing, named(thing.name), True)
        sides = (first, Side(other, named(other.name), True))
    return scene, sides if asker.rng.random() < 0.5 else (sides[1], sides[0])


def _compare(asker: Asker, pair: tuple[Side, Side], attribute: str) -> Worded:
    more, kind = asker.rng.random() < 0.5, pair[0].thing.kind
    winner = (max if more else min)(pair, key=lambda side: number_of(side.thing, attribute))
    numbers = [(side.thing.name, number_of(side.thing, attribute)) for side in pair]
    text = phrasing.ask_which(attribute, more, pair[0].words, pair[1].words, asker.rng, kind=kind)
    first, second = (named(side.thing.name) for side in pair)
    gold = phrasing.ask_which(attribute, more, first, second, kind=kind)
    name = winner.thing.name
    aliases = tuple(dict.fromkeys((named(name), winner.words)))
    return Worded(text, gold, name, aliases, workings.choice(numbers, more=more))


def _subtract(asker: Asker, pair: tuple[Side, Side], attribute: str) -> Worded:
    low, high = sorted(pair, key=lambda side: number_of(side.thing, attribute))
    first, second = (low, high) if attribute == "year" else (high, low)  # older is the earlier year
    kind = first.thing.kind
    text = phrasing.ask_difference(attribute, first.words, second.words, kind, asker.rng)
    gold = phrasing.ask_difference(attribute, named(first.thing.name), named(second.thing.name), kind)
    more, fewer = number_of(high.thing, attribute), number_of(low.thing, attribute)
    number, unit = more - fewer, unit_of(high.thing, attribute) or "years"
    aliases = aliases_of_result(number, unit)
    return Worded(text, gold, f"{number} {unit}", aliases, workings.difference(more, fewer, unit))


def _build(
    asker: Asker, family: str, scene: Scene, pair: tuple[Side, Side], attribute: str, worded: Worded
) -> Question:
    pictured = next((side for side in pair if not side.named), pair[0])
    hops = sorted((hop for side in pair for hop in side.hops(attribute)), key=lambda hop: hop.round)
    return asker.build(
        family,
        Pointed(pictured.thing, scene, pictured.words),
        worded.text,
        worded.answer,
        worded.gold,
        entries=tuple(side.thing.id for side in pair),
        attribute=attribute,
        aliases=worded.aliases,
        hops=tuple(hops),
        working=worded.working,
        domain=NUMBER_DOMAIN if family == "calculation" else "",
    )
