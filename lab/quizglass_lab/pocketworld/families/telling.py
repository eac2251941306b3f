"""Questions beyond one fact of a thing: what several cost, what there is to tell, what colour it has elsewhere."""

from collections.abc import Mapping
from dataclasses import replace

from quizglass_lab.pocketworld import workings
from quizglass_lab.pocketworld.articles import thing_claim
from quizglass_lab.pocketworld.asker import Asker, Pointed, look_up
from quizglass_lab.pocketworld.families.comparing import number_of
from quizglass_lab.pocketworld.families.facts import MakeQuestion, follow
from quizglass_lab.pocketworld.families.mentions import WAYS, Mention
from quizglass_lab.pocketworld.phrasing import ask_about, ask_colour, ask_several, named
from quizglass_lab.pocketworld.question import Hop, Question
from quizglass_lab.pocketworld.words import NUMBER_DOMAIN
from quizglass_lab.pocketworld.world import Thing, taught

_MOST_CROWNS = 999
_CLAIMED = ("maker", "year", "price", "place", "length")
_CLAIMS = 4


def several(ways: Mapping[str, float]) -> MakeQuestion:
    """What two or three of it cost: its price, found, known or read on a sign, times that."""

    def make(asker: Asker, thing: Thing) -> Question | None:
        count = asker.rng.choice((2, 3))
        if "price" not in thing.facts or number_of(thing, "price") * count > _MOST_CROWNS:
            return None
        way = asker.rng.choices(list(ways), list(ways.values()))[0]
        mention = WAYS[way](asker, thing, ("price",))
        question = follow(asker, thing, mention, ("price",), "calculation")
        if question is None:
            return None
        total = str(number_of(thing, "price") * count)
        return replace(
            question,
            text=ask_several(count, "these" if mention.words.startswith("this") else mention.words, asker.rng),
            gold_query=ask_several(count, named(thing.name)),
            answer=f"{total} crowns",
            aliases=(total,),
            domain=NUMBER_DOMAIN,
            working=workings.product(count, number_of(thing, "price"), "crowns"),
        )

    return make


def claims_of(thing: Thing) -> dict[str, str]:
    """What there is to tell of a thing, a sentence an attribute: its maker, its year, and the first of the others."""
    told = [attribute for attribute in _CLAIMED if attribute in thing.facts][:_CLAIMS]
    return {attribute: thing_claim(thing, attribute) for attribute in told}


def portrait(ways: Mapping[str, float]) -> MakeQuestion:
    """Three or four facts, see `claims_of`."""

    def make(asker: Asker, thing: Thing) -> Question | None:
        way = asker.rng.choices(list(ways), list(ways.values()))[0]
        mention = WAYS[way](asker, thing, ("maker",))
        known_name = "name" in mention.tells or taught(thing, "name")
        group = "text" if known_name else "both"
        if asker.group not in (None, group):
            return None
        claims = tuple(claims_of(thing).values())
        answer, gold = " ".join(claims), ask_about(named(thing.name))
        question = asker.build(
            "about",
            Pointed(thing, mention.scene, mention.pictured),
            ask_about(mention.words, asker.rng),
            answer,
            gold,
            entries=(thing.id,),
            history=mention.history,
            hops=_portrait_hops(thing, mention, gold, answer),
        )
        return replace(question, group=group, claims=claims)

    return make


def _portrait_hops(thing: Thing, mention: Mention, query: str, answer: str) -> tuple[Hop, ...]:
    if "name" in mention.tells:
        return (Hop("text", query, answer, thing.id),)
    return look_up(thing, mention.pictured), Hop("text", query, answer, thing.id, 1)


def colour(asker: Asker, thing: Thing) -> Question | None:
    """The colour of a thing that the question names: the picture shows it to those who know the thing, else text says
    it.
    """
    rng = asker.rng
    shown = thing if rng.random() < 0.5 else asker.other(asker.world.things, thing, kinds=True)
    if shown is thing and not taught(thing, "name"):
        return None
    group = "none" if shown is thing else "text"
    if asker.group not in (None, group):
        return None
    scene, subject = asker.scene(shown, count=1 if shown is not thing else None)
    words, hop = named(thing.name), Hop("text", ask_colour(named(thing.name)), thing.look.body, thing.id)
    question = asker.build(
        "colour-named",
        Pointed(thing, scene, subject if shown is thing else words),
        ask_colour(words, rng),
        thing.look.body,
        ask_colour(words),
        entries=() if shown is thing else (thing.id,),
        attribute="colour",
        hops=() if shown is thing else (hop,),
    )
    return replace(question, group=group)
