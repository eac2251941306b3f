"""Whether looking up is planned well: the planner beside policies that always do the same, and the best rule on words.

Half of the questions point at a photographed thing ("this animal"), half name theirs beside a photograph of something
else. All are in wordings that no training has; the photographs are of packages that are fetched, drawn anew.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

from bench.everyday.fetched.things import Thing, on_plain, things
from bench.everyday.setup import Setup, between
from bench.everyday.turns import import_folder
from bench.results import Row, at_least, at_most, ratio
from bench.sections import Part
from bench.worlds import in_own_order
from quizglass_client import Answer, Client
from quizglass_client.local import LocalServer
from quizglass_export.everyday.build import adapter
from quizglass_lab.everyday.facts import Fact, all_facts
from quizglass_lab.everyday.knowledge import told
from quizglass_lab.everyday.wording import pointing, questions
from quizglass_lab.scoring.answers import refuses
from quizglass_lab.scoring.claims import contains_words
from quizglass_lab.scoring.intervals import confidence_interval

AGENT, BOTH, NONE = "planning-agent+", "both", "none"
PLANS = (NONE, "image", "text", BOTH)
BUDGET_S = 60.0
_NAMED = 72
PHOTOGRAPHED: Mapping[str, str] = {
    "elephant": "animals/mammals/elephant.png",
    "flamingo": "animals/birds/pink_flamingo.png",
    "frog": "animals/amphibians/frog.png",
    "giraffe": "animals/mammals/giraffe.png",
    "goat": "animals/mammals/bovines/goat.png",
    "hedgehog": "animals/mammals/hedgehog.png",
    "honey bee": "animals/insects/bee.png",
    "horse": "animals/mammals/equines/horse.png",
    "kangaroo": "animals/marsupials/kangaroo.png",
    "koala": "animals/marsupials/koala.png",
    "lion": "animals/mammals/cats/lion.png",
    "red fox": "animals/mammals/dogs/fox.png",
    "sheep": "animals/mammals/bovines/sheep.png",
    "Mercury": "space/planets/1_mercury.png",
    "Venus": "space/planets/2_venus.png",
    "Mars": "space/planets/4_mars.png",
    "Jupiter": "space/planets/5_jupiter.png",
    "Saturn": "space/planets/6_saturn.png",
    "Uranus": "space/planets/7_uranus.png",
    "Neptune": "space/planets/8_neptune.png",
}
"""Things that facts are known of and a photograph is there of, with its path in the package."""


@dataclass(frozen=True)
class Question:
    """A question about a photograph."""

    fact: Fact
    text: str
    points: bool
    shown: Thing
    draw: int
    """Of the photograph: how it is turned, resized and lit."""


@dataclass(frozen=True)
class Turn:
    """What came of one question under one policy."""

    right: bool
    answer: str
    plan: str
    image: int
    text: int
    tokens: int
    ms: float


Turns = Mapping[str, Sequence[Turn]]
"""By policy, in the order of the questions."""


def planning(setup: Setup) -> Part:
    """Every question under every policy; the agent only where its planner is trained."""
    stored, version = things(setup.folder / "debian")
    asked = list(questions_about(setup, stored))
    source = known_folder(setup, stored)
    policies = (*PLANS, *([AGENT] if adapter("planner", setup.adapters) else []))
    store, log = setup.folder / "planning-knowledge", setup.folder / "server.log"
    with LocalServer(setup.bundle, store, log=log) as server:
        import_folder(server.target, source)
        with Client(server.target, timeout=2 * BUDGET_S) as client:
            turns: dict[str, list[Turn]] = {policy: [] for policy in policies}
            for number, question in enumerate(asked):
                setup.say(f"question {number + 1} of {len(asked)} under {len(policies)} policies")
                # One after the other, so that what slows the machine slows all alike; what one has left is found sooner
                # by those after it.
                for policy in in_own_order(f"{number} {question.text}", policies):
                    turns[policy].append(ask(client, question, policy))
    rows = [row for policy in policies for row in _policy_rows(asked, turns, policy)]
    rows += _heart_rows(turns)
    rows += _agent_rows(asked, turns) if AGENT in turns else [Row("planner", None, "", "there is no trained adapter")]
    kept = [
        {"question": question.text, "value": question.fact.value, "turns": {p: vars(turns[p][at]) for p in policies}}
        for at, question in enumerate(asked)
    ]
    return Part(rows, {"package": version, "seed": setup.seed, "asked": kept})


def questions_about(setup: Setup, stored: Sequence[Thing]) -> Iterator[Question]:
    """Each fact of photographed things twice, pointing; and as many that name their thing, of all facts."""
    chance = random.Random(setup.seed)
    by_path = {thing.id: thing for thing in stored}
    facts = all_facts(setup.workdir)
    shown = [fact for fact in facts if fact.kind in ("animal", "planet") and fact.thing in PHOTOGRAPHED]
    pointed = [(fact, draw) for fact in shown for draw in (1, 2)]
    for fact, draw in chance.sample(pointed, min(len(pointed), setup.count(_NAMED, 3))):
        (named,) = questions(fact, held_out=True)
        yield Question(fact, pointing(fact, named), True, by_path[PHOTOGRAPHED[fact.thing]], draw)
    others = [thing for thing in stored if thing.id not in PHOTOGRAPHED.values()]
    for fact in chance.sample(facts, setup.count(_NAMED, 3)):
        (named,) = questions(fact, held_out=True)
        yield Question(fact, named, False, chance.choice(others), 1)


def known_folder(setup: Setup, stored: Sequence[Thing]) -> Path:
    """A folder to import: all facts, with photographs where there are, and every other photographed thing."""
    folder = setup.folder / "planning-source"
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    names = {path: thing for thing, path in PHOTOGRAPHED.items()}
    files: dict[str, str] = {}
    entries: list[dict[str, Any]] = []
    for number, thing in enumerate(stored):
        file = f"pictures/{number}.png"
        (folder / file).write_bytes(thing.entry().pictures[0])
        if (name := names.get(thing.id)) is not None:
            files[name] = file
        else:
            entries.append({"id": f"stamp/{number}", "title": thing.caption, "kind": "thing", "pictures": [file]})
    for entry in told(all_facts(setup.workdir)):
        file = files.get(entry["title"], "") if entry["kind"] in ("animal", "planet") else ""
        entries.append({**entry, "pictures": [file]} if file else dict(entry))
    lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries]
    (folder / "entries.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def ask(client: Client, question: Question, policy: str) -> Turn:
    """One question under one policy, about a photograph that no cache has seen under another."""
    shown = Image.fromarray(on_plain(question.shown, question.draw).pixels)
    less = [*PLANS, AGENT].index(policy)  # a column less for each, so that none finds another's turn in a cache
    encoded = io.BytesIO()
    shown.crop((less, 0, shown.width, shown.height)).save(encoded, "JPEG", quality=90)
    answer = Answer.of(list(client.ask(question.text, encoded.getvalue(), policy=policy, budget=BUDGET_S)))
    done = answer.done
    count = {stage: sum(each.stage == stage for each in done.timings) for stage in ("image_search", "text_search")}
    return Turn(
        contains_words(done.answer, question.fact.value) and not refuses(done.answer),
        done.answer,
        str(answer.plan.plan) if answer.plan else "",
        count["image_search"],
        count["text_search"],
        done.all_prompt_tokens,
        1e3 * done.total,
    )


def _policy_rows(asked: Sequence[Question], turns: Turns, policy: str) -> list[Row]:
    some, title = turns[policy], f"planning, policy {policy}"
    pairs = list(zip(asked, some, strict=True))
    rows = [_right(f"{title}: right", some)]
    for name, points in (("pointing", True), ("naming", False)):
        rows.append(_right(f"{title}: right, {name}", [turn for question, turn in pairs if question.points is points]))
    tokens = sum(turn.tokens for turn in some) / len(some)
    rows.append(Row(f"{title}: prompt tokens of all models, mean", tokens, "tokens"))
    return [*rows, Row(f"{title}: whole, p50", median(turn.ms for turn in some), "ms")]


def _right(title: str, turns: Sequence[Turn]) -> Row:
    hits = sum(turn.right for turn in turns)
    return Row(f"{title} ({between(hits, len(turns))} questions)", 100 * hits / len(turns), "%")


def _heart_rows(turns: Turns) -> list[Row]:
    """What the generator knows by heart, and what evidence talked it out of."""
    pairs = list(zip(turns[NONE], turns[BOTH], strict=True))
    overruled = sum(heart.right and not read.right for heart, read in pairs)
    gained = sum(read.right and not heart.right for heart, read in pairs)
    return [
        Row(f"by heart: right without lookup, of {len(pairs)}", sum(heart.right for heart, _ in pairs), "questions"),
        Row("by heart: of these, overruled wrongly by evidence", overruled, "questions"),
        Row("by heart: wrong, and right by evidence", gained, "questions"),
    ]


def _agent_rows(asked: Sequence[Question], turns: Turns) -> list[Row]:
    agent, both, rule = turns[AGENT], turns[BOTH], _best_rule(asked, turns)
    chosen = [turns[rule[question.points]][at] for at, question in enumerate(asked)]
    over_both, low, high = _gain(agent, both)
    over_rule, rule_low, rule_high = _gain(agent, chosen)
    label = f"planning-agent+ over both (95 % interval {low:.1f} to {high:.1f})"
    words = f"pointing: {rule[True]}, naming: {rule[False]}"
    share, rule_share = (100 * _searches(some) / max(_searches(both), 1) for some in (agent, chosen))
    p50, peer_p50 = (median(turn.ms for turn in some) for some in (agent, both))
    name = f"planning-agent+ over the best rule on words (95 % interval {rule_low:.1f} to {rule_high:.1f})"
    return [
        at_least(label, over_both, "points", -1.0),
        Row(
            f"the best rule on words, chosen afterwards ({words}): right",
            100 * sum(turn.right for turn in chosen) / len(chosen),
            "%",
        ),
        at_least(name, over_rule, "points", -1.0),
        at_most("searches of planning-agent+, of both's", share, "%", 60.0),
        Row("searches of that rule, of both's", rule_share, "%"),
        Row("whole turn, planning-agent+ beside both, p50", p50, "ms", BOTH, peer_p50, ratio(p50, peer_p50)),
        *(Row(f"planned: {plan}", 100 * sum(turn.plan == plan for turn in agent) / len(agent), "%") for plan in PLANS),
    ]


def _searches(turns: Sequence[Turn]) -> int:
    return sum(turn.image + turn.text for turn in turns)


def _best_rule(asked: Sequence[Question], turns: Turns) -> Mapping[bool, str]:
    """The plan that answered most of the questions that point, and of those that name; the cheaper of equals."""
    rule = {}
    for points in (True, False):
        at = [number for number, question in enumerate(asked) if question.points is points]
        rule[points] = max(PLANS, key=lambda plan: (sum(turns[plan][n].right for n in at), -PLANS.index(plan)))
    return rule


def _gain(ours: Sequence[Turn], theirs: Sequence[Turn]) -> tuple[float, float, float]:
    gains = [100.0 * (a.right - b.right) for a, b in zip(ours, theirs, strict=True)]
    return (sum(gains) / len(gains), *confidence_interval(gains))
