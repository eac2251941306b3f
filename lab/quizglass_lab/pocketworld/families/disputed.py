"""Questions about what sources disagree on: memory against evidence, picture against text."""

from dataclasses import replace

from quizglass_lab.pocketworld.asker import Asker
from quizglass_lab.pocketworld.families.facts import family_of, follow
from quizglass_lab.pocketworld.families.mentions import Mention, by_name, by_sight
from quizglass_lab.pocketworld.families.walks import Path
from quizglass_lab.pocketworld.question import Conflict, Question
from quizglass_lab.pocketworld.world import ATTRIBUTES, Dispute, Thing, taught

_BY_NAME = 0.5
"""Of the questions about memory and evidence; what picture and text disagree on is asked by the picture."""


def disputed(asker: Asker, case: Dispute) -> Question:
    """A question that the sources of a dispute answer differently; `conflict` says which of them is right."""
    things = {thing.id: thing for thing in asker.world.things if thing.id in (case.thing, case.rival)}
    thing, rival = things[case.thing], things.get(case.rival)
    attribute = asker.rng.choice(_attributes(case, thing, rival))
    mention, way = _mention(asker, case, thing, attribute)
    question = follow(replace(asker, group=None), thing, mention, (attribute,), family_of((attribute,), way))
    assert question is not None, "any group is right, and the thing tells the attribute"
    misled = {"name": rival.name, **rival.facts} if rival else {}
    wrong = case.wrong or misled[attribute]
    conflict = Conflict(case.kind, case.right, wrong, case.rival)
    if case.right == "memory":  # the store has nothing but what misleads
        return replace(question, conflict=conflict, group="none", hops=(), gold_entries=())
    group = "text" if case.kind == "stale" else question.group
    return replace(question, conflict=conflict, group=group)


def _attributes(case: Dispute, thing: Thing, rival: Thing | None) -> list[str]:
    """What may be asked: facts of the thing that differ from the rival's, of memory's only what was taught."""
    if case.attribute or rival is None:
        return [case.attribute or "year"]
    options = [a for a in ATTRIBUTES if a in thing.facts and thing.facts[a] != rival.facts.get(a, thing.facts[a])]
    if case.right == "memory":
        return [a for a in options if taught(thing, a)]
    return options if case.kind == "twin" else ["name", *options]


def _mention(asker: Asker, case: Dispute, thing: Thing, attribute: str) -> tuple[Mention, str]:
    path: Path = (attribute,)
    if case.kind in ("stale", "rumour", "twin"):
        if asker.rng.random() < _BY_NAME:
            return by_name(asker, thing, path), "name"
        return by_sight(asker, thing, path), "sight"
    scene, subject = asker.scene(thing, count=1)
    return Mention(subject, scene, subject), "sight"
