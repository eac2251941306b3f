"""What families share: the lookups that tell an attribute, and its wording."""

from quizglass_lab.pocketworld.articles import maker_id
from quizglass_lab.pocketworld.asker import Asker
from quizglass_lab.pocketworld.phrasing import ask, ask_maker, named
from quizglass_lab.pocketworld.question import Hop
from quizglass_lab.pocketworld.world import OPTIONAL_ATTRIBUTES, Maker, Thing

_UNITS = ("price", "length", "weight", "people")


def aliases_of(attribute: str, answer: str) -> tuple[str, ...]:
    """Other wordings that count as right: a measure without its unit."""
    return (answer.split()[0],) if attribute in _UNITS else ()


def aliases_of_result(number: int, unit: str) -> tuple[str, ...]:
    """Other wordings of a number that was worked out: without its unit and, of one, with the unit's singular."""
    singular = (f"1 {unit.removesuffix('s')}",) if number == 1 and unit.endswith("s") else ()
    return (str(number), *singular)


def specific_attribute(asker: Asker, thing: Thing, *, also: tuple[str, ...] = ()) -> str:
    """An attribute that the article tells and that the base model was not taught."""
    told = [a for a in (*OPTIONAL_ATTRIBUTES, *also) if a in thing.facts]
    return asker.rng.choice([a for a in told if not (thing.studied and a == "designer")])


def telling(thing: Thing, attribute: str) -> Hop:
    """The hop to what a thing's article tells."""
    return Hop("text", ask(attribute, thing.kind, named(thing.name)), thing.facts[attribute], thing.id)


def of_the_maker(maker: Maker, attribute: str, answer: str) -> Hop:
    """The hop to what a maker's article tells."""
    return Hop("text", ask_maker(attribute, maker.name), answer, maker_id(maker.name))
