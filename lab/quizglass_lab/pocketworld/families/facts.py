"""Questions that follow a path of facts from one thing; where they need to look follows from what is known.

The same words ask for what is known by heart, told by a sign or an earlier turn, or has to be looked up.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from quizglass_lab.pocketworld.asker import Asker, Pointed, look_up
from quizglass_lab.pocketworld.families.hops import aliases_of
from quizglass_lab.pocketworld.families.mentions import WAYS, Mention
from quizglass_lab.pocketworld.families.walks import NAME, Leg, Path, by_heart, group_of, phrase, walk
from quizglass_lab.pocketworld.phrasing import ask, named
from quizglass_lab.pocketworld.question import Hop, Question
from quizglass_lab.pocketworld.world import Thing, taught

MakeQuestion = Callable[[Asker, Thing], Question | None]
"""None where the thing does not lead to a question of the group that is wanted."""


def facts(ways: Mapping[str, float], paths: Mapping[Path, float]) -> MakeQuestion:
    """A family: one of the `ways` to mention a thing, one of the `paths` from it, by their weights."""

    def make(asker: Asker, thing: Thing) -> Question | None:
        path = asker.rng.choices(list(paths), list(paths.values()))[0]
        if walk(asker.world, thing, path) is None:
            return None
        way = asker.rng.choices(list(ways), list(ways.values()))[0]
        return follow(asker, thing, WAYS[way](asker, thing, path), path, family_of(path, way))

    return make


def family_of(path: Path, way: str) -> str:
    """What a question is called, from what its words show."""
    if way in ("talk", "after-talk"):
        return "dialogue"
    if path[0] == "maker" and path[1:] in (("home",), ("field",)):
        return "maker-home"
    if len(path) > 1:
        return "founder" if path == ("maker", "founder") else "chain"
    if way == "name":
        return "named"
    return {"name": "identity", "year": "fact", "maker": "fact", "designer": "fact"}.get(path[0], "specific")


def open_legs(legs: tuple[Leg, ...], tells: frozenset[str]) -> tuple[Leg, ...]:
    """The steps that nothing has told yet."""
    return legs[1:] if legs[0].attribute in tells else legs


def searches(thing: Thing, legs: tuple[Leg, ...], tells: frozenset[str]) -> set[str]:
    """The searches that open steps need, given the taught knowledge."""
    image = any(leg.about == "thing" for leg in legs) and "name" not in tells and not taught(thing, "name")
    text = any(not by_heart(thing, leg, looked_up=image) for leg in legs)
    return {search for search, needed in (("image", image), ("text", text)) if needed}


def caption_tells_maker(thing: Thing, tells: frozenset[str]) -> bool:
    """Whether the maker comes with the name: by a caption that has to be looked up anyway, or by heart."""
    return "name" not in tells and (not taught(thing, "name") or taught(thing, "maker"))


def lookups(thing: Thing, legs: tuple[Leg, ...], mention: Mention) -> tuple[Hop, ...]:
    """The lookups of open steps, without any knowledge from memory.

    Of a thing whose name is taught and whose maker is not the maker is looked up in text, as its group says.
    """
    hops: list[Hop] = []
    if "name" not in mention.tells and any(leg.about == "thing" for leg in legs):
        hops.append(look_up(thing, mention.pictured))
        free = ("name", "maker") if caption_tells_maker(thing, mention.tells) else ("name",)
        legs = legs[1:] if legs[0].attribute in free else legs
    hops += [Hop("text", leg.query(), leg.value, leg.entry) for leg in legs]
    return tuple(replace(hop, round=number) for number, hop in enumerate(hops))


def gold_query(thing: Thing, path: Path, mention: Mention) -> str:
    """The question as it stands alone: with the maker's name where it needs no text, else with the thing's."""
    if path == NAME:
        return ask("name", thing.kind, f"the {thing.kind} called {thing.name}")
    if path[0] == "maker" and len(path) > 1 and ("maker" in mention.tells or caption_tells_maker(thing, mention.tells)):
        return phrase(path[1:], thing.kind, thing.maker, about="maker")
    return phrase(path, thing.kind, named(thing.name))


def follow(asker: Asker, thing: Thing, mention: Mention, path: Path, family: str) -> Question | None:
    """The question for the end of a path; None where it is not of the asker's group."""
    legs = walk(asker.world, thing, path)
    if legs is None:
        return None
    unsettled = open_legs(legs, mention.tells)
    group = group_of(searches(thing, unsettled, mention.tells))
    if asker.group not in (None, group):
        return None
    hops, answer, attribute = lookups(thing, unsettled, mention), legs[-1].value, legs[-1].attribute
    question = asker.build(
        family,
        Pointed(thing, mention.scene, mention.pictured),
        phrase(path, thing.kind, mention.words, asker.rng),
        answer,
        gold_query(thing, path, mention),
        entries=tuple(dict.fromkeys(hop.entry for hop in hops)),
        attribute=None if path == NAME else attribute,
        aliases=(named(answer),) if path == NAME else aliases_of(attribute, answer),
        history=mention.history,
        hops=hops,
    )
    return replace(question, group=group)
