"""Rewriting when the picture search brought back the wrong thing: the served generator, given what it is shown.

In this process, without any knowledge: questions whose thing is named, printed or was mentioned before, rewritten with
no hit, with the right one and with another thing's. What is read in the picture is the bundle's reader's own.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.accuracy.ground import Ground
from bench.accuracy.inside import Inside, inside
from bench.results import Row, at_least
from bench.sections import Part
from quizglass.values import Origin
from quizglass_lab.pocketworld.articles import thing_caption
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.pocketworld.world import Thing, World
from quizglass_lab.scoring.answers import exact_match, normalise
from quizglass_server.domain.turns import Evidence

SHARE = 0.5
HITS = ("no hit", "the right hit", "a wrong hit")
Rewritten = dict[str, str]
"""By hit."""


def run(ground: Ground) -> Part:
    """Rows for each kind of hit, and by family."""
    asked: list[tuple[Question, Rewritten]] = []
    unseen: list[tuple[Question, Rewritten]] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        questions = [question for question in trial.questions if question.group == "text" and question.image_answer]
        written = asyncio.run(_rewritten(ground, trial.world, questions))
        asked += written
        unseen += [each for each in written if each[0].target in trial.unseen]
    barred = [asdict(row) for row in rows(unseen) if row.bar] if unseen else []
    return Part(rows(asked), {"families": _families(asked), "examples": _examples(asked), "unseen": barred})


async def _rewritten(ground: Ground, world: World, questions: Sequence[Question]) -> list[tuple[Question, Rewritten]]:
    tick = ground.ticker("rewriting", len(questions))
    asked = []
    with TemporaryDirectory() as folder:
        async with inside(ground.bundle, Path(folder)) as stage:
            for question in questions:
                asked.append((question, await _each_hit(question, world, stage)))
                tick()
    return asked


async def _each_hit(question: Question, world: World, stage: Inside) -> Rewritten:
    things = {thing.id: thing for thing in world.things}
    target = things.get(question.target or "")
    other = _another(question, world)
    shown = {HITS[0]: [], HITS[1]: [_hit(target)] if target else [], HITS[2]: [_hit(other)]}
    said: Rewritten = {}
    for name, hits in shown.items():
        async with stage.verbs(question) as verbs:
            lines = await verbs.tools.rewrite(verbs.tools.start().having(hits))
        said[name] = lines[0] if lines else ""
    return said


def _another(question: Question, world: World) -> Thing:
    """Another thing of the same kind, which a picture search may bring back."""
    rng = random.Random(question.id)
    target = next((thing for thing in world.things if thing.id == question.target), None)
    others = [thing for thing in world.things if target is None or (thing.kind == target.kind and thing != target)]
    return rng.choice(others or list(world.things))


def _hit(thing: Thing) -> Evidence:
    return Evidence("1", Origin.IMAGE_SEARCH, thing.id, thing.name, thing_caption(thing), 0.9, used=True)


def rows(asked: Sequence[tuple[Question, Rewritten]]) -> list[Row]:
    """By what the picture search brought back: how often the query is the gold one, and names its thing."""
    table = []
    for hit in HITS:
        name = f"rewriting of questions that need no picture, {hit}: equal to the gold query ({len(asked)})"
        equal = _share([exact_match(said[hit], question.gold_query) for question, said in asked])
        table.append(at_least(name, equal, "%", 95) if hit == HITS[2] else Row(name, equal, "%"))
        named = _share([normalise(question.image_answer) in normalise(said[hit]) for question, said in asked])
        table.append(Row(f"the same, {hit}: names its thing", named, "%"))
    return table


def _share(hits: Sequence[bool]) -> float:
    return 100 * sum(hits) / len(hits) if hits else float("nan")


def _families(asked: Sequence[tuple[Question, Rewritten]]) -> dict[str, dict[str, float]]:
    names = sorted({question.family for question, _ in asked})
    return {
        name: {
            hit: _share([exact_match(said[hit], q.gold_query) for q, said in asked if q.family == name]) for hit in HITS
        }
        for name in names
    }


def _examples(asked: Sequence[tuple[Question, Rewritten]]) -> list[list[str]]:
    """Some that go wrong with a wrong hit alone: question, gold query, what was written."""
    wrong = [
        [question.text, question.gold_query, said[HITS[2]]]
        for question, said in asked
        if exact_match(said[HITS[0]], question.gold_query) and not exact_match(said[HITS[2]], question.gold_query)
    ]
    return wrong[:20]
